"""Polars' own types in cells: what a notebook binds by a bare `let`, and every function that the outline claims to exist."""

import pathlib
import re

# A cell for each subject, in an order in which they run. Each line binds at top level.
CELLS = {
    "frames": [
        'let df = df!("a" => [1, 2, 2], "x" => [0.5, 1.5, 2.5], "s" => ["u", "v", "v"])?;',
        "let shape = df.shape(); let height = df.height(); let width = df.width();",
        "let names = df.get_column_names_owned(); let types = df.dtypes(); let schema: SchemaRef = df.schema().clone();",
        'let two = DataFrame::new_infer_height(vec![Column::new("c".into(), [1, 2, 3]), Column::new("d".into(), ["x", "y", "z"])])?;',
        "let none = DataFrame::empty(); let text = df.to_string();",
    ],
    "rows and columns": [
        "let head = df.head(Some(2)); let tail = df.tail(Some(1)); let middle = df.slice(1, 1);",
        'let some = df.select(["a", "x"])?; let fewer = df.drop("a")?; let last = df.drop_many(["a", "x"]);',
        'let mask = df.column("x")?.f64()?.gt(1.0);',
        "let big = df.filter(&mask)?;",
        'let sorted = df.sort(["x"], SortMultipleOptions::default().with_order_descending(true))?;',
        'let by_name = df.sort(["s", "x"], Default::default())?;',
        'let unique = df.unique_stable(Some(&["s".to_string()]), UniqueKeepStrategy::First, None)?;',
        'let renamed = df.clone().rename("a", "k".into())?.clone();',
        'let more = df.clone().with_column(Column::new("y".into(), [3, 4, 5]))?.clone();',
        'let stacked = df.vstack(&df)?; let wide = df.hstack(&[Column::new("z".into(), [7, 8, 9])])?;',
        'let value = df.column("a")?.get(0)?.extract::<i32>();',
    ],
    "groups and joins": [
        'let parts = df.partition_by(["s"], true)?;',
        'let counts = df.column("s")?.as_materialized_series().value_counts(true, false, "count".into(), false)?;',
        'let inner = df.inner_join(&df, ["a"], ["a"])?;',
        'let left = df.join(&unique, ["s"], ["s"], JoinArgs::new(JoinType::Left), None)?;',
        'let groups = df.group_by(["s"])?.groups()?;',
    ],
    "columns": [
        'let column = df.column("x")?.clone(); let name = column.name().clone(); let dtype = column.dtype().clone();',
        'let mean = df.column("x")?.f64()?.mean(); let sum = df.column("x")?.f64()?.sum();',
        'let largest = df.column("x")?.f64()?.max(); let least = df.column("a")?.i32()?.min();',
        'let one = df.column("x")?.f64()?.get(1); let missing = df.column("x")?.null_count();',
        'let cast = df.column("a")?.cast(&DataType::Float64)?; let total = df.column("x")?.sum_reduce()?;',
        'let distinct = df.column("s")?.n_unique()?; let values = df.column("s")?.unique()?;',
    ],
    "chunked arrays": [
        'let ca = df.column("x")?.f64()?.clone(); let copied = ca.to_vec();',
        "let v: Vec<_> = ca.iter().collect(); let plain: Vec<f64> = ca.into_no_null_iter().collect();",
        "let flat = ca.iter().flatten().map(|x| x * 2.0).collect::<Vec<_>>(); let slice = ca.cont_slice()?.to_vec();",
        "let twice = ca.apply_values(|x| 2.0 * x); let spread = ca.std(1); let middle = ca.median();",
        'let strings: Vec<String> = df.column("s")?.str()?.iter().flatten().map(str::to_owned).collect();',
        'let whole = Float64Chunked::from_vec("w".into(), vec![1.0, 2.0]); let back = whole.clone().into_series();',
        'let words = StringChunked::new("t".into(), ["p", "q"]); let lengths = words.iter().flatten().map(str::len).sum::<usize>();',
        "let small = ca.lt_eq(0.5); let any = small.any(); let yes = small.sum();",
        "let order = ca.sort(true).into_column();",
    ],
    "series": [
        'let a = df.column("x")?.as_materialized_series().clone(); let b = Series::new("b".into(), [1.0, 2.0, 3.0]);',
        "let s = (&a + &b)?; let d = (&a - &b)?; let p = (&a * &b)?; let scaled = &a * 2.0;",
        "let equal = a.equal(&b)?; let both = &a.gt(1.0)? & &equal; let part = a.filter(&equal)?;",
        "let mean = a.mean(); let spread = a.std(1); let ascending = a.sort(Default::default())?; let first = a.arg_max();",
        "let gathered = Series::from_iter([1i32, 2, 3]); let filled = a.fill_null(FillNullStrategy::Zero)?;",
        "let quarter = a.f64()?.quantile(0.25, QuantileMethod::Nearest)?; let field = Field::new(\"f\".into(), DataType::Int32);",
    ],
    "files": [
        'let written = ParquetWriter::new(std::fs::File::create("walk.parquet")?).finish(&mut df.clone())?;',
        'let read = ParquetReader::new(std::fs::File::open("walk.parquet")?).finish()?;',
        'CsvWriter::new(std::fs::File::create("walk-polars.csv")?).include_header(true).finish(&mut df.clone())?;',
        'let options = CsvReadOptions::default().with_has_header(true);',
        'let csv = options.clone().try_into_reader_with_file_path(Some("walk-polars.csv".into()))?.finish()?;',
    ],
    "tables": [
        'let table = Table::from(df.clone()); let mean = table.column("x")?.f64()?.mean();',
        "let rows = table.height(); let inside = table.into_inner();",
    ],
}

# Types whose functions the outline is compared in, and the package of the outline that has them.
OUTLINED = {
    "polars-core": ["DataFrame", "Series", "Column", "DataType", "Field", "StringChunked", "BooleanChunked"],
    "polars-io": ["CsvReadOptions", "CsvParseOptions", "ParquetWriteOptions"],
    "polars-ops": ["JoinArgs"],
}


def mentions(outline):
    """An expression that names each public function without type parameters of the types in `OUTLINED`."""
    for package, types in OUTLINED.items():
        found = set()
        # The outline has an item in each line.
        for line in pathlib.Path(outline, package, "lib.rs").read_text().splitlines():
            of = next((of for of in types if line.startswith(f"impl {of} {{")), None)
            for name, rest in re.findall(r"pub (?:const )?fn (\w+) ([^{]*)\{", line) if of else ():
                parameters = rest.split("->")[0]
                # Neither the type of an `impl Trait` argument nor, without a value, a type parameter can be written.
                if parameters.startswith("(") and "impl " not in parameters:
                    found.add(f"{of}::{name}")
        assert set(types) == {name.split("::")[0] for name in found}, f"{package}: {sorted(found)}"
        yield from sorted(found)
