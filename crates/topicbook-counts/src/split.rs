//! Documents for training and documents held out.

use crate::data::first_part;
use crate::error::Result;

use super::Counts;
use super::copy::{Columns, Copy, check_copy};
use super::pass::for_each_stored_block;

impl Counts {
    /// Splits the documents at random into two parts, to fit a model to the first and to judge it on the second: the first
    /// gets `share` of the documents, rounded. Each part keeps the order of the documents. The same seed gives the same
    /// parts.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(100, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let (train, test) = counts.split(0.8, 1)?;
    /// assert_eq!((train.documents(), test.documents()), (80, 20));
    /// for k in [2, 3, 4] {
    ///     let fit = TopicModel::new(k).epochs(20).quiet().fit(&train)?;
    ///     println!("{k} topics: perplexity {:.2}", fit.perplexity(&test)?);
    /// }
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `share` is not between 0 and 1, or one of the parts would have no document. If both parts do not fit into the free
    /// memory (checked before they are allocated). If the counts' file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// One pass over the counts, and a copy of all of them in memory, in the same layout and dtype; a file is read in
    /// blocks of bounded size.
    #[doc(alias = "train_test_split")]
    pub fn split(&self, share: f64, seed: u64) -> Result<(Self, Self)> {
        let in_first = first_part(self.documents(), share, seed)?;
        check_copy(self, &Columns::All, "a copy of both parts", || {
            Ok(self.summary()?.nonzeros())
        })?;
        let (mut train, mut test) = (Copy::of(self), Copy::of(self));
        for_each_stored_block(self, false, &mut |block| {
            for (offset, row) in block.rows.enumerate() {
                let part = match in_first[block.first + offset] {
                    true => &mut train,
                    false => &mut test,
                };
                part.append(&block.view, row, &Columns::All);
            }
            Ok(())
        })?;
        Ok((train.finish(&Columns::All)?, test.finish(&Columns::All)?))
    }
}
