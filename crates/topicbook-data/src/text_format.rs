//! What a user states about a file of text or a spreadsheet, where a guess would be wrong.

use crate::error::{Error, Result};
use crate::system::Encoding;

use super::{Decimal, or_ref};

/// How a file is read: the encoding of a text, the separator and the decimal mark of a table of text, the sheet of a
/// spreadsheet. What is not set is found from the file's contents, and stands on the card: UTF-8, UTF-16 with a byte order
/// mark, or Windows-1252 where words are as in Western European languages; the separator that gives most columns; the decimal
/// mark that all numbers can have; the first sheet that has values.
///
/// `Texts::format`, `Table::open_with` and `CountTable::format` take it.
///
/// ```
/// use topicbook::{TextFormat, Texts};
/// # let _folder = topicbook::example_folder()?;
/// std::fs::write("letters.txt", b"\xc4\xee\xf0\xee\xe3\xe0\xff\n")?; // in Russian
/// assert!(Texts::open("letters.txt")?.beginnings(7).is_err());
/// let letters = Texts::open("letters.txt")?.format(TextFormat::new().encoding("windows-1251")?)?;
/// assert_eq!(letters.beginnings(7)?, ["Дорогая"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[must_use = "a file is read when a reader takes the format"]
#[doc(alias = "read_csv")]
pub struct TextFormat {
    encoding: Option<Encoding>,
    separator: Option<u8>,
    decimal: Option<Decimal>,
    sheet: Option<usize>,
}

or_ref!(TextFormat);

impl TextFormat {
    /// A format of which everything is found.
    ///
    /// ```
    /// assert_eq!(topicbook::TextFormat::new(), topicbook::TextFormat::default());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The file is in this encoding, by its name on the web: `windows-1251` (Russian), `windows-1250` (Polish, Czech), `gb18030`
    /// and `gbk` (Chinese), `big5`, `shift_jis`, `euc-jp`, `euc-kr`, `utf-16le`, `macintosh`, `latin1` and others. A byte order
    /// mark at the beginning of the file is believed before.
    ///
    /// ```
    /// use topicbook::TextFormat;
    /// assert!(TextFormat::new().encoding("gb18030").is_ok());
    /// assert!(TextFormat::new().encoding("klingon").is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no encoding of this name.
    #[doc(alias = "charset")]
    pub fn encoding(&self, name: &str) -> Result<Self> {
        Ok(Self {
            encoding: Some(Encoding::named(name)?),
            ..*self
        })
    }

    /// This character stands between two values of a row: any of ASCII but letters, digits, quotation marks and line ends.
    ///
    /// ```
    /// use topicbook::{TextFormat, Texts, Vectorizer};
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("letters.csv", "year~text\n1811~Dear Cassandra, dear sister\n")?;
    /// let letters = Texts::open("letters.csv")?.format(TextFormat::new().separator('~')?)?;
    /// assert_eq!(Vectorizer::new().fit_transform(letters)?.documents().numbers("year")?, [1811.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When it is another character.
    #[doc(alias("sep", "delimiter"))]
    pub fn separator(&self, separator: char) -> Result<Self> {
        let is_separator = separator == '\t'
            || separator == ' '
            || separator.is_ascii_punctuation() && separator != '"';
        match u8::try_from(separator) {
            Ok(byte) if is_separator => Ok(Self {
                separator: Some(byte),
                ..*self
            }),
            _ => Err(Error::setting(format!("{separator:?} separates no values"))
                .fix("pass ',', ';', '\\t', '|' or another sign of ASCII")),
        }
    }

    /// Numbers have this decimal mark, `'.'` or `','`; the other one separates thousands.
    ///
    /// ```
    /// use topicbook::TextFormat;
    /// let german = TextFormat::new().separator(';')?.decimal(',')?;
    /// assert_ne!(german, TextFormat::new());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the mark is neither.
    #[doc(alias = "thousands")]
    pub fn decimal(&self, mark: char) -> Result<Self> {
        Ok(Self {
            decimal: Some(Decimal::of(mark)?),
            ..*self
        })
    }

    /// The table is in this sheet of a spreadsheet, counted from 1; sheets that are hidden count too. Without the setting, the
    /// first sheet that has values is read, and the card names the others.
    ///
    /// ```
    /// use topicbook::{Table, TextFormat};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("letters.csv", "year\n1811\n")?;
    /// let error = Table::open_with("letters.csv", TextFormat::new().sheet(2)).unwrap_err();
    /// assert!(error.to_string().contains("has no sheets"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "sheet_name")]
    #[doc(alias = "read_excel")]
    pub fn sheet(&self, number: usize) -> Self {
        Self {
            sheet: Some(number),
            ..*self
        }
    }

    /// The stated encoding.
    #[doc(hidden)]
    pub fn stated_encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// The stated separator.
    #[doc(hidden)]
    pub fn stated_separator(&self) -> Option<u8> {
        self.separator
    }

    /// The stated decimal mark.
    #[doc(hidden)]
    pub fn stated_decimal(&self) -> Option<Decimal> {
        self.decimal
    }

    /// The stated sheet.
    #[doc(hidden)]
    pub fn stated_sheet(&self) -> Option<usize> {
        self.sheet
    }

    /// Whether something is stated of tables alone.
    #[doc(hidden)]
    pub fn is_of_tables(&self) -> bool {
        self.separator.is_some() || self.decimal.is_some() || self.sheet.is_some()
    }

    /// Whether something is stated of texts alone.
    #[doc(hidden)]
    pub fn is_of_texts(&self) -> bool {
        Self {
            sheet: None,
            ..*self
        } != Self::new()
    }
}
