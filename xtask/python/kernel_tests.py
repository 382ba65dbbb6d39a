"""Tests of the kernel through Jupyter's own protocol. Reports like Rust's test harness.

usage: kernel_tests.py [PART_OF_A_NAME]
"""

import contextlib
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import time

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

import api_walk
import polars_walk
import run_notebook
import tasks
from harness import run_tests

SECONDS = 300
KERNELS = pathlib.Path(os.environ["TOPICBOOK_KERNELS"])
ROOT = pathlib.Path(__file__).parents[2]


class Kernel:
    """A running kernel; `env` updates the environment of the kernel spec, `specs` finds that spec, `start` goes to
    Jupyter's start_kernel."""

    def __init__(self, env=(), specs=None, start=()):
        self.env = dict(env)
        self.specs = specs or KernelSpecManager()
        self.start = dict(start)

    def __enter__(self):
        self.manager = KernelManager(kernel_name="topicbook", kernel_spec_manager=self.specs)
        self.manager.kernel_spec.env.update(self.env)
        self.manager.start_kernel(**self.start)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)
        cache = self.env.get("TOPICBOOK_CACHE")
        kernels = pathlib.Path(cache, "kernels") if cache else KERNELS
        self.folder = kernels / str(self.manager.provisioner.pid)
        return self

    def __exit__(self, *_):
        self.client.shutdown()
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.manager.cleanup_resources()

    def run(self, code):
        """Runs a cell; returns its text/plain value, all MIME types of the value, stdout, stderr, the error, updates and the
        number of messages with text."""
        texts = {"value": "", "kinds": set(), "stdout": "", "stderr": "", "error": "", "updates": [], "streams": 0}

        def collect(message):
            content = message["content"]
            if message["msg_type"] == "stream":
                texts[content["name"]] += content["text"]
                texts["streams"] += 1
            elif message["msg_type"] == "execute_result":
                texts["value"] += content["data"].get("text/plain", "")
                texts["kinds"].update(content["data"])
            elif message["msg_type"] == "error":
                texts["error"] += "\n".join(content["traceback"])
            elif message["msg_type"] in ("display_data", "update_display_data"):
                texts["updates"].append(content)

        self.client.execute_interactive(code, timeout=SECONDS, output_hook=collect)
        return texts

    def worker(self):
        """The number of the process in which the cells run."""
        kernel = self.manager.provisioner.pid
        files = pathlib.Path(f"/proc/{kernel}/task").glob("*/children")
        children = [int(child) for file in files for child in file.read_text().split()]
        name = os.readlink(f"/proc/{kernel}/exe")
        (worker,) = [child for child in children if os.readlink(f"/proc/{child}/exe") == name]
        return worker

    def value(self, code):
        """The value of a cell that must succeed."""
        texts = self.run(code)
        assert not texts["error"] and not texts["stderr"], texts
        return texts["value"].strip()


def first_cell_needs_no_dep(kernel):
    kernel.value("use topicbook::prelude::*;")
    kernel.value("let m = Matrix::new(1, 2, vec![1.0, 2.0])?;")
    assert kernel.value("m.shape()") == "(1, 2)"
    # A command of evcxr answers below its cell.
    assert "m: Matrix" in kernel.run(":vars")["stdout"], kernel.run(":vars")


def standard_types_infer(kernel):
    kernel.value("let (rows, values) = (m.rows(), m.values().to_vec());")
    kernel.value("let largest = values.iter().copied().max_by(f32::total_cmp);")
    assert kernel.value("(rows, largest)") == "(1, Some(2.0))"
    kernel.value('let path = std::path::PathBuf::from("a").join("b");')
    kernel.value('let map = std::collections::HashMap::from([("a".to_string(), 1)]);')
    kernel.value("let took = std::time::Instant::now().elapsed().as_secs_f64();")
    kernel.value('let words: Vec<_> = "x y".split_whitespace().map(str::to_uppercase).collect();')
    assert kernel.value('(path.exists(), map["a"], took < 9.0, words.len())') == "(false, 1, true, 2)"


def prelude_keeps_the_standard_result(kernel):
    """`Result` with two types, in a binding, a function, a closure and `?`; the prelude was brought in by the first cell."""
    kernel.value("use topicbook::prelude::*;")
    kernel.value("let r: Result<u32, String> = Ok(3);")
    assert kernel.value("r") == "Ok(3)"
    kernel.value("fn parsed(text: &str) -> Result<i32, String> { text.parse().map_err(|_| format!(\"not {text}\")) }")
    assert kernel.value('(parsed("7"), parsed("x"))') == '(Ok(7), Err("not x"))'
    # In a block: the type of a closure has no name, so a cell cannot keep it.
    halves = '{ let half = |n: u32| -> Result<u32, String> { n.checked_div(2).ok_or("none".to_string()) }; half(4) }'
    assert kernel.value(halves) == "Ok(2)"
    kernel.value('let seven = parsed("7")?;')
    assert kernel.value("seven") == "7"


def failed_question_mark_keeps_variables(kernel):
    texts = kernel.run("let wrong = Matrix::new(3, 3, vec![1.0])?;")
    assert "a 3 × 3 matrix does not have 1 values" in texts["error"], texts
    assert "to do:" in texts["error"] and not texts["stderr"], texts
    assert kernel.value("m.rows()") == "1"


def panic_keeps_earlier_variables(kernel):
    texts = kernel.run('eprintln!("before"); print!("tail"); let lost = 1; if m.rows() == 1 { panic!("on purpose") }')
    assert texts["error"].startswith("panicked:\non purpose\n`lost` is lost:"), texts
    assert texts["stdout"] == "tail" and texts["stderr"] == "before\n", texts
    assert kernel.value("m.columns()") == "2"


SMALL = """
    let counts = Synthetic::new(200, 50, 3).avg_doc_length(100).seed(3).generate()?.counts();
    let model = TopicModel::new(3).seed(3).quiet();
"""


def a_fit_survives_a_later_line_that_fails(kernel):
    kernel.value(SMALL)
    texts = kernel.run('let big = model.clone().epochs(2).fit(&counts)?;\nlet rest = 1;\nbig.save("/no/such/folder/x")?;')
    assert "/no/such/folder/x" in texts["error"] and "`rest` is lost" in texts["error"], texts
    assert kernel.value("big.topics()") == "3"
    # The compiler sees the whole cell before its first part runs.
    texts = kernel.run("let huge = model.clone().epochs(2).fit(&counts)?;\nhuge.no_such_method();")
    assert "   2 | huge.no_such_method();" in texts["error"], texts
    assert "huge" in kernel.run("huge")["error"]


def a_failed_cell_keeps_the_values_of_the_names_it_binds_again(kernel):
    kernel.value(SMALL)
    kernel.value("let named = model.clone().epochs(2).fit(&counts)?;")
    texts = kernel.run('let named = named.name_topics(["only one"])?;')
    assert texts["error"].startswith("1 name for 3 topics"), texts
    assert texts["error"].endswith("`named` keeps the value that it had before this cell."), texts
    assert kernel.value("named.topics()") == "3"
    kernel.value('let table = Table::new().with_column("a", [1.0, 2.0, 3.0])?;')
    texts = kernel.run('let table = table.filter(col("a").gt(1.5))?;\nlet table = table.sort_by("nope")?;')
    assert "nope" in texts["error"] and "`table` keeps" in texts["error"], texts
    assert kernel.value("table.height()") == "3"
    # Values that cannot be cloned, several at once, of another type; what was mutable stays so.
    kernel.value("struct Own(u8); let mut own = Own(1); let mut pair = vec![1u8];")
    texts = kernel.run('let (own, pair) = (own.0 as f64, pair.len() + "x".parse::<usize>()?);')
    assert "invalid digit" in texts["error"] and "`own`, `pair` keep" in texts["error"], texts
    texts = kernel.run('let pair = if pair.len() == 1 { panic!("on purpose") };')
    assert texts["error"].startswith("panicked:\non purpose\n`pair` keeps"), texts
    assert kernel.value("own.0 += 1; pair.push(own.0); pair") == "[1, 2]"
    # Cells that succeed bind as before, also what they move.
    kernel.value("let own = Own(own.0 + 1); let pair: Vec<_> = pair.into_iter().map(|n| n + own.0).collect();")
    assert kernel.value("let pair = (pair, own); (&pair.0, pair.1.0)") == "([4, 5], 3)"


def a_variable_that_is_gone_has_its_reason(kernel):
    kernel.value("let moved = vec![1, 2]; let again = vec![3]; let kept = 3;")
    kernel.value("drop(moved);")
    texts = kernel.run("moved.len()")
    assert re.search(r"to do: cell \[\d+\] moved `moved` into a call, which", texts["error"]), texts
    texts = kernel.run("rest + 1")
    assert re.search(r"to do: cell \[\d+\] bound `rest` and failed", texts["error"]), texts
    kernel.value("fn lost(v: Vec<i32>) -> Result<i32, String> { Err(format!(\"no {v:?}\")) }")
    texts = kernel.run("let again = lost(again)?;")
    assert texts["error"].startswith("no [3]\n`again` is lost: the cell passed the value on"), texts
    words = " ".join(kernel.run("again")["error"].split())
    assert "moved `again` into a call and failed before it had bound `again` again; write `&again`" in words, words


def variables_of_own_types_stay(_):
    """Whether cells are optimised or not, and where a crate is added."""
    with Kernel() as kernel:
        kernel.value("struct Point { x: i32 } let p = Point { x: 1 };")
        kernel.value("for i in 0..1 { std::hint::black_box(i); }")
        assert kernel.value("p.x") == "1"
        assert not kernel.run(':dep either = "1"')["error"]
        assert kernel.value("p.x") == "1"
        # Another type of the same name is another type.
        assert kernel.run("struct Point { x: f32 } let q: u8 = 1.0;")["error"]
        assert kernel.value("p.x") == "1"
        kernel.value("struct Point { x: f32 }")
        assert "was redefined, so was lost" in kernel.run("p.x")["stderr"]
        words = " ".join(kernel.run("p")["error"].split())
        assert re.search(r"`p` was lost in cell \[\d+\], because its type has another definition now", words), words


def text_is_shown_whole_below_its_own_cell(_):
    """Also where a cell prints much, or no line break at its end."""
    with Kernel() as kernel:
        # With a `let`, so that rust-analyzer's first analysis, which takes memory, is over when memory is measured.
        kernel.value("use topicbook::prelude::*; let first = Matrix::new(1, 1, vec![1.0])?;")
        assert kernel.run('print!("lost tail");')["stdout"] == "lost tail"
        assert kernel.run('println!("next");')["stdout"] == "next\n"
        texts = kernel.run('print!("tail"); Matrix::new(3, 3, vec![1.0])?;')
        assert texts["stdout"] == "tail" and texts["error"].startswith("a 3 × 3 matrix"), texts
        for lines, streams in ((20_000, 20), (1_000_000, 100)):
            began = time.monotonic()
            texts = kernel.run(f'for i in 0..{lines} {{ println!("{{i}}"); }}')
            assert texts["stdout"] == "".join(f"{i}\n" for i in range(lines)), len(texts["stdout"])
            assert texts["streams"] <= streams and time.monotonic() - began < 30, (texts["streams"], time.monotonic() - began)
            assert kernel.run("1 + 1")["stdout"] == ""
        # A line is shown when it is printed, not when the cell ends.
        texts = kernel.run('for i in 0..3 { println!("{i}"); std::thread::sleep(std::time::Duration::from_millis(500)); }')
        assert texts["streams"] == 3 and texts["stdout"] == "0\n1\n2\n", texts
        front = pathlib.Path(f"/proc/{kernel.manager.provisioner.pid}/status")
        peak = [int(line.split()[1]) for line in front.read_text().splitlines() if line.startswith("VmHWM")]
        kernel.run('for _ in 0..100 { println!("{}", "x".repeat(1_000_000)); }')
        after = [int(line.split()[1]) for line in front.read_text().splitlines() if line.startswith("VmHWM")]
        assert after[0] - peak[0] < 60_000, f"100 MB of text take {after[0] - peak[0]} KiB"


def a_value_that_takes_a_variable_is_shown_as_a_picture(kernel):
    kernel.value("let taken = vec![1.0, 2.0]; let chart = Chart::lines([1.0, 2.0]); let pair = (vec![1, 2], 3);")
    own = "let own = vec![1.0, 2.0];\nChart::lines([(\"own\", own)])"
    for cell in ('Chart::lines([("taken", taken)])', 'chart.title("Taken")', own):
        texts = kernel.run(cell)
        assert not texts["error"] and not texts["stderr"] and "image/png" in texts["kinds"], (cell, texts)
    assert "moved `taken` into a call" in kernel.run("taken.len()")["error"]
    # Plain values, also one that borrows from a temporary value; and a place, which a cell shows without taking it.
    assert kernel.value("pair.0.iter().map(i32::to_string).collect::<String>().as_str()") == '"12"'
    assert kernel.value("pair.0") == kernel.value("pair.0.clone()") == "[1, 2]"
    assert kernel.value("std::convert::identity(pair)") == "([1, 2], 3)"
    texts = kernel.run("let word = String::new();\nword.no_such_method()")
    assert "   2 | word.no_such_method()" in texts["error"] and "evcxr_" not in texts["error"], texts


def a_chart_that_cannot_be_drawn_fails_its_cell(kernel):
    texts = kernel.run('let points = 2; let chart = Chart::scatter([1.0, 2.0], [2.0, 3.0]).bins(3);\nchart')
    assert "`bins` does not apply to points" in texts["error"] and not texts["value"], texts
    assert kernel.value("points") == "2"


def a_result_that_nobody_uses_is_an_error(kernel):
    texts = kernel.run('big.save("/no/such/folder/f");')
    assert "unused `Result` that must be used" in texts["error"] and "write `?`" in texts["error"], texts
    kernel.value('big.save("kept.safetensors")?;')


def cells_after_a_failed_one_are_not_run(kernel):
    """As after "Run All": the requests are sent at once. Each message belongs to its own cell."""
    cells = ['let wrong = Matrix::new(3, 3, vec![1.0])?;', 'println!("ran");', "1 + 1"]
    numbers = [kernel.client.execute(cell) for cell in cells]
    states = {}
    while len(states) < 3:
        reply = kernel.client.get_shell_msg(timeout=SECONDS)
        states[reply["parent_header"]["msg_id"]] = reply["content"]["status"]
    assert [states[number] for number in numbers] == ["error", "aborted", "aborted"], states
    shown = []
    while True:
        try:
            message = kernel.client.get_iopub_msg(timeout=0.3)
        except queue.Empty:
            break
        if message["msg_type"] not in ("status", "execute_input"):
            shown.append((message["msg_type"], message["parent_header"]["msg_id"]))
    assert shown == [("error", numbers[0])], shown
    assert kernel.value("1 + 1") == "2"


def output_is_shown_below_its_own_cell(kernel):
    for number in range(10):
        texts = kernel.run(f'eprintln!("error {number}"); print!("a"); println!("b"); print!("c"); {number}')
        assert texts["stderr"] == f"error {number}\n", texts
        assert texts["stdout"] == "ab\nc" and texts["value"] == str(number), texts


def a_cell_can_show_several_values(kernel):
    kernel.value("let one = Matrix::new(1, 1, vec![1.0])?;")
    texts = kernel.run("one.evcxr_display(); one.evcxr_display(); one")
    assert len(texts["updates"]) == 2 and "text/html" in texts["kinds"], texts


def compile_error_is_shown_at_its_place(kernel):
    texts = kernel.run("m.no_such_method()")
    assert "no_such_method" in texts["error"], texts
    assert kernel.value("m.rows()") == "1"


def brackets_and_large_files_end_no_process(kernel):
    texts = kernel.run("(" * 3000 + "1" + ")" * 3000)
    assert "3000 brackets inside of one another" in texts["error"], texts
    # Neither is more of them parsed anywhere, nor for a completion.
    many = "(" * 1_000_000
    assert "1000000 brackets inside of one another" in kernel.run(many)["error"]
    assert kernel.client.complete(many, len(many), reply=True, timeout=SECONDS)["content"]["matches"] == []
    # Standard input is at its end, in the place of a wait for lines that are evcxr's.
    assert kernel.value("std::io::stdin().read_line(&mut String::new())?") == "0"
    # As `ulimit -f` does; a soft limit, which can be raised again.
    limit = 'std::process::Command::new("prlimit").args(["--pid", &std::process::id().to_string(), "--fsize={}:"]).status()?;'
    write = 'println!("{}", std::fs::write("large", vec![0u8; 1 << 20]).unwrap_err());'
    texts = kernel.run(limit.format(100000) + write + limit.format("unlimited"))
    assert "File too large" in texts["stdout"] and not texts["error"], texts
    assert kernel.value("m.rows()") == "1"


def forgotten_question_mark_is_named(kernel):
    kernel.run("let forgotten = Counts::dense(1, 2, vec![1u8, 2]);")
    texts = kernel.run("TopicModel::new(1).fit(&forgotten)")
    assert "write `?` after the call that made it" in texts["error"], texts


def completion_knows_our_methods(kernel):
    code = "m.select_r"
    reply = kernel.client.complete(code, len(code), reply=True, timeout=SECONDS)
    matches = reply["content"]["matches"]
    assert any(match.startswith("select_rows") for match in matches), matches


def completion_knows_file_names(kernel):
    pathlib.Path("wörds").mkdir(exist_ok=True)
    pathlib.Path("wörds/counts.npz").touch()
    code = 'let é = Counts::open("wörds/cou'
    reply = kernel.client.complete(code, len(code), reply=True, timeout=SECONDS)["content"]
    assert reply["matches"] == ["counts.npz"], reply
    assert code[reply["cursor_start"] : reply["cursor_end"]] == "cou", reply


def inspection_shows_our_documentation(kernel):
    code = "Matrix::select_rows"
    reply = kernel.client.inspect(code, len(code), reply=True, timeout=SECONDS)
    text = reply["content"]["data"].get("text/plain", "")
    assert "rows in the given order" in text, reply["content"]
    assert text.startswith("topicbook::") or "topicbook::data" in text, reply["content"]


def every_public_function_is_walked(_):
    missing = api_walk.unwalked()
    assert not missing, "\n".join(missing)


def every_result_binds_and_every_type_shows(kernel):
    wrong = []
    for owners, lines, shown in api_walk.cells():
        # Several types in a cell, because a cell for each line would take minutes.
        *others, last = shown or [""]
        texts = kernel.run("\n".join(lines + [f"{name}.evcxr_display();" for name in others] + [last]))
        about = f"{', '.join(owners)}\n{texts['error']}{texts['stderr']}"
        if texts["error"] or texts["stderr"]:
            wrong.append(about)
            continue
        # Progress lines are displays, too, and come before these.
        displays = texts["updates"][len(texts["updates"]) - len(others) :]
        kinds = [set(content["data"]) for content in displays] + [texts["kinds"]] * bool(shown)
        if len(kinds) < len(shown) or not all(kind & {"text/html", "text/markdown", "image/png"} for kind in kinds):
            wrong.append(f"{about}{', '.join(shown)} are shown as {[sorted(kind) for kind in kinds]}")
        if shown and "text/plain" not in texts["kinds"]:
            wrong.append(f"{about}{last} has no text")
    assert not wrong, "\n\n".join(wrong)


def polars_types_bind(_):
    wrong = []
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;")
        kernel.value("use topicbook::polars::prelude::*; use topicbook::polars::df;")
        for subject, lines in polars_walk.CELLS.items():
            texts = kernel.run("\n".join(lines))
            if texts["error"] or texts["stderr"]:
                wrong.append(f"{subject}\n{texts['error']}{texts['stderr']}")
    assert not wrong, "\n\n".join(wrong)


def outlined_functions_of_polars_exist(kernel):
    lines = [f"let _ = {name};" for name in polars_walk.mentions(kernel.folder / "build/outline")]
    assert len(lines) > 300, lines
    kernel.value("{ use topicbook::polars::prelude::*;\n" + "\n".join(lines) + "\n}")


def tasks_of_an_analyst_take_one_line(_):
    with tempfile.TemporaryDirectory() as folder:
        tasks.files(folder)
        with Kernel(start={"cwd": folder}) as kernel:
            for cell in tasks.BEFORE:
                kernel.value(cell)
            for task in tasks.TASKS:
                texts = kernel.run(task.line)
                assert not texts["error"] and not texts["stderr"], (task.title, texts)
                assert task.shows in texts["kinds"] or (not task.shows and not texts["kinds"]), (task.title, texts)


def completion_offers_nothing_private(kernel):
    def offered(code):
        reply = kernel.client.complete(code, len(code), reply=True, timeout=SECONDS)
        return {re.match(r"\w*", match)[0] for match in reply["content"]["matches"]}

    kernel.value('let table = Table::from(topicbook::polars::df!("a" => [1])?);')
    methods = offered("table.")
    assert {"write_csv", "into_inner", "height", "filter"} <= methods, methods
    assert not {"0", "html", "from_columns"} & methods, methods
    kernel.value("let chart = Chart::loss(&[2.0, 1.0], &[-2.0, -1.0]);")
    assert {"title", "save_png"} <= offered("chart."), offered("chart.")
    assert not {"run", "train", "recipe"} & offered("TopicModel::"), offered("TopicModel::")


def interrupt_ends_the_cell_and_the_kernel_goes_on(kernel):
    begin(kernel, "loop { std::thread::sleep(std::time::Duration::from_millis(10)); }")
    assert interrupt(kernel) == "error"
    assert kernel.value("1 + 1") == "2"
    assert re.search(r"cannot find value `m`", kernel.run("m")["error"])
    words = " ".join(kernel.run("m")["error"].split())
    assert re.search(r"`m` was lost when the process of the cells ended, in cell \[\d+\]", words), words


def begin(kernel, code):
    """Sends a cell; returns when its code runs. Until then the stop button keeps the cell from running."""
    kernel.client.execute(f'println!("begun"); {code}')
    while kernel.client.get_iopub_msg(timeout=SECONDS)["content"].get("text") != "begun\n":
        pass


def interrupt(kernel):
    """Presses the stop button; returns the status of the cell's reply."""
    kernel.manager.interrupt_kernel()
    return kernel.client.get_shell_msg(timeout=SECONDS)["content"]["status"]


def stop_button_ends_a_fit_and_keeps_it(_):
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;")
        kernel.value(SMALL.replace(".quiet()", "") + "let before = 1;")
        for fit in ("model.clone().epochs(1_000_000).fit(&counts)?", "model.clone().epochs(1_000_000).spawn(&counts)?.join()?"):
            kernel.client.execute(f"let fit = {fit};\nlet after = 2;")
            # A fit shows its progress when it has begun; one in the background shows none.
            if "spawn" in fit:
                time.sleep(3)
            else:
                while kernel.client.get_iopub_msg(timeout=SECONDS)["msg_type"] != "display_data":
                    pass
            assert interrupt(kernel) == "error"
            assert int(kernel.value("fit.epochs().len()")) in range(1, 1_000_000)
            assert kernel.value("before") == "1"
        # While a cell is compiled, the button keeps it from running, and it has moved nothing.
        kernel.client.execute("let never = model.epochs(1_000_000).fit(&counts)?; let before = drop(counts);")
        time.sleep(0.05)
        assert interrupt(kernel) == "error"
        assert kernel.value("(before, counts.documents())") == "(1, 200)"
        # Nothing listens after the fit, so that the button ends the process.
        begin(kernel, "loop { std::hint::spin_loop(); }")
        assert interrupt(kernel) == "error"
        assert kernel.value("1 + 1") == "2"


# Work that shows its progress, of more than a second each.
LONG = (
    "Synthetic::new(400_000, 5_000, 10).avg_doc_length(5_000).generate()?",
    'Synthetic::new(400_000, 5_000, 10).avg_doc_length(5_000).write_npy("stopped.npy")?',
    'counts.write_mtx("stopped.mtx")?',
    'counts.write_npz("stopped.npz")?',
    "Vectorizer::new().fit_transform(&texts)?",
    "training.snapshot()?",
)


def stop_button_ends_other_work_and_keeps_variables(_):
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;\nlet before = 1;")
        kernel.value("let counts = Synthetic::new(40_000, 5_000, 5).avg_doc_length(5_000).generate()?.counts();")
        kernel.value('let texts: Vec<String> = (0..3_000_000).map(|i| format!("text {i} of {}", i % 99_991)).collect();')
        kernel.value("let training = TopicModel::new(200).epochs(1_000_000).batch_size(40_000).spawn(&counts)?;")
        for work in LONG:
            begin(kernel, f"let made = {work};")
            time.sleep(0.5)
            assert interrupt(kernel) == "error", work
            assert kernel.value("before") == "1", work
        assert kernel.value("training.stop(); counts.documents()") == "40000"
        assert not list(pathlib.Path().glob("*stopped*")), list(pathlib.Path().glob("*stopped*"))


def a_running_fit_is_watched_in_one_output(_):
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;")
        kernel.value(SMALL + "let training = model.clone().epochs(1_000_000).spawn(&counts)?;")
        first = kernel.run("training")["updates"]
        (display,) = {content["transient"]["display_id"] for content in first}
        kernel.value("std::thread::sleep(std::time::Duration::from_secs(3)); training.stop();")
        updates = kernel.run("std::thread::sleep(std::time::Duration::from_secs(3)); let fit = training.join()?;")["updates"]
        assert {content["transient"]["display_id"] for content in updates} == {display}, updates
        last = updates[-1]["data"]
        assert "stopped" in last["text/plain"], last["text/plain"]
        assert "topic shares" in last["text/plain"] and "<img" in last["text/html"], last["text/plain"]


def a_control_runs_its_function_again(_):
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;")
        messages = []

        def until(kind, found):
            """The content of the next message of a kind for which `found` holds."""
            while True:
                message = kernel.client.get_iopub_msg(timeout=SECONDS)
                if message["msg_type"] == kind and found(message["content"]):
                    return message["content"]

        def send(state, method="update"):
            data = {"method": method, "state": state, "buffer_paths": []}
            kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", {"comm_id": slider["comm_id"], "data": data}))

        code = 'let half = interact(("number", 2..=10), |number| number / 2);\nhalf'
        kernel.client.execute_interactive(code, timeout=SECONDS, output_hook=messages.append)
        opened = [message for message in messages if message["msg_type"] == "comm_open"]
        models = [message["content"]["data"]["state"] for message in opened]
        assert [model["_model_name"] for model in models] == ["LayoutModel", "SliderStyleModel", "IntSliderModel"], models
        assert all(message["metadata"]["version"].startswith("2.") for message in opened), opened
        slider, state = opened[-1]["content"], models[-1]
        assert [state[key] for key in ("min", "max", "value", "description")] == [2, 10, 6, "number"], state
        shown = [message["content"] for message in messages if message["msg_type"] == "display_data"]
        assert shown[0]["data"]["application/vnd.jupyter.widget-view+json"]["model_id"] == slider["comm_id"], shown
        assert shown[1]["data"]["text/plain"] == "3", shown
        for number in (7, 8, 9):
            send({"value": number})
        until("update_display_data", lambda content: content["data"]["text/plain"] == "4")
        assert kernel.value("half.value()") == "9"
        # A page that was loaded again asks which models there are, and for their states.
        assert slider["comm_id"] in kernel.client.comm_info(reply=True, timeout=SECONDS)["content"]["comms"]
        send({}, "request_state")
        assert until("comm_msg", lambda content: True)["data"]["state"]["value"] == 9
        # A result that is an error, and a function that panics, stand in the output; the cells go on.
        texts = kernel.run('interact(["a", "b"], |name| if name == "a" { Err("none") } else { Ok(1.5) })')
        assert texts["updates"][1]["data"]["text/plain"] == "none", texts
        texts = kernel.run('interact(true, |on| { assert!(!on); 1.0 })')
        assert "the function panicked" in texts["updates"][1]["data"]["text/plain"], texts
        assert kernel.value("1 + 1") == "2"


def progress_is_one_output(_):
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;")
        kernel.value(SMALL.replace(".quiet()", ""))
        texts = kernel.run("let fit = model.epochs(20).fit(&counts)?;")
        assert texts["stdout"] == "", texts
        assert len({content["transient"]["display_id"] for content in texts["updates"]}) == 1
        lines = texts["updates"][-1]["data"]["text/plain"].splitlines()
        assert len(lines) == 22 and max(map(len, lines[1:])) < 60, lines
        assert [line.split()[0] for line in lines[2:]] == [f"{epoch}/20" for epoch in range(1, 21)], lines


def killed_fit_resumes_in_a_new_kernel(_):
    """The resumed fit has the same bits as an uninterrupted one."""
    setup = """
        use topicbook::prelude::*;
        let counts = Synthetic::new(2_000, 300, 5).avg_doc_length(500).seed(3).generate()?.counts();
        let model = TopicModel::new(5).seed(3).device(Device::Cpu).quiet();
    """
    result = 'format!("{:?} {:?} {:?}", fit.loss(), fit.log_likelihood_per_token(), fit.score(&counts)?)'
    path = pathlib.Path("interrupted.checkpoint")
    with Kernel() as first:
        first.value(setup)
        endless = f'let fit = model.epochs(1_000_000).checkpoint("{path}").fit(&counts)?;'
        first.client.execute(endless)
        # Waits for the second checkpoint, because the fit certainly continued after the first.
        previous = path.with_name(f"{path.name}.previous")
        deadline = time.monotonic() + SECONDS
        while not previous.exists():
            assert time.monotonic() < deadline, "no checkpoint appears"
            time.sleep(0.05)
        os.kill(first.worker(), 9)
        reply = first.client.get_shell_msg(timeout=SECONDS)["content"]
        assert "was killed" in reply["evalue"], reply
        assert first.value("1 + 1") == "2"
        lost = first.run("fit")
        assert "not found" in lost["error"] or "cannot find" in lost["error"], lost
    with Kernel() as second:
        second.value(setup)
        second.value(f'let checkpoint = Checkpoint::open("{path}")?;')
        done = int(second.value("checkpoint.epochs_done()"))
        assert done > 0
        second.value(f"let fit = checkpoint.epochs({done + 3}).quiet().fit(&counts)?;")
        resumed = second.value(result)
        second.value(f"let fit = model.epochs({done + 3}).fit(&counts)?;")
        whole = second.value(result)
        assert re.fullmatch(r'"Some\(-?\d+\.\d+\) Some\(-?\d+\.\d+\) -?\d+\.\d+"', whole), whole
        assert resumed == whole, f"resumed after {done} epochs: {resumed}; without a kill: {whole}"


def a_new_kernel_finds_a_run_of_ranks(_):
    """The ranks continue while there is no kernel, and the fit has the bits of one process."""
    worker = KERNELS.parent / "bin" / "topicbook-worker"
    if not worker.exists():
        print("SKIPPED: topicbook-worker is not built (`cargo xtask worker` builds it)")
        return
    setup = """
        use topicbook::prelude::*;
        let counts = Counts::open("ranks.npz")?;
        let model = TopicModel::new(5).solver(Solver::em()).tolerance(0.0).seed(3).quiet();
    """
    with tempfile.TemporaryDirectory() as runs:
        with Kernel() as first:
            first.value("use topicbook::prelude::*;")
            first.value("let corpus = Synthetic::new(6_000, 800, 5).avg_doc_length(300).seed(3).generate()?;")
            first.value('corpus.counts().write_npz("ranks.npz")?;')
            first.value(setup)
            first.value(f'let ranks = Cluster::local(2).folder("{runs}");')
            first.value("let training = model.epochs(1_000_000).cluster(ranks).spawn(&counts)?;")
            first.value("while training.epochs_done() < 3 { std::thread::sleep(std::time::Duration::from_millis(10)); }")
            os.kill(first.worker(), 9)
        (run,) = pathlib.Path(runs).iterdir()
        passes = len((run / "events.jsonl").read_text().splitlines())
        with Kernel() as second:
            second.value(setup)
            second.value(f'let training = TopicModel::attach("{runs}")?;')
            second.value(
                f"while training.epochs_done() < {passes + 3} {{ std::thread::sleep(std::time::Duration::from_millis(10)); }}"
            )
            second.value("training.stop();")
            second.value("let fit = training.join()?;")
            second.value("let passes = fit.epochs().len();")
            assert int(second.value("passes")) >= passes + 3
            second.value("let streamed = Reading::Stream { block: 1_024, blocks: 1 };")
            second.value("let alone = model.epochs(passes).reading(streamed).fit(&counts)?;")
            assert second.value("fit.l() == alone.l() && fit.f() == alone.f()") == "true"
        assert not any(pathlib.Path(runs).iterdir())
    pathlib.Path("ranks.npz").unlink()


def stop_button_ends_ranks_and_keeps_the_fit(_):
    """While ranks compute topics of documents, of which nothing is kept."""
    worker = KERNELS.parent / "bin" / "topicbook-worker"
    if not worker.exists():
        print("SKIPPED: topicbook-worker is not built (`cargo xtask worker` builds it)")
        return
    pathlib.Path("wait.sh").write_text("touch started; exec sleep 600\n")
    with Kernel() as kernel:
        kernel.value("use topicbook::prelude::*;")
        kernel.value(SMALL)
        kernel.value('let stored = counts.write_npz("stored.npz")?;')
        kernel.value("let fit = model.epochs(2).fit(&counts)?;")
        kernel.value('let ranks = Cluster::command("sh wait.sh -n 1").folder(".");')
        kernel.client.execute("let topics = fit.transform_on(&ranks, &stored)?;")
        deadline = time.monotonic() + SECONDS
        while not pathlib.Path("started").exists():
            assert time.monotonic() < deadline, "the launcher does not start"
            time.sleep(0.05)
        assert interrupt(kernel) == "error"
        assert kernel.value("fit.topics()") == "3"


def three_kernels_share_one_build(first):
    with Kernel() as second, Kernel() as third:
        for number, kernel in enumerate((first, second, third)):
            code = f"let n = topicbook::Matrix::new(1, 1, vec![{number}.0])?;"
            kernel.value(code)
        for number, kernel in enumerate((first, second, third)):
            assert kernel.value("n.values()[0]") == f"{number}.0"
        folders = [kernel.folder for kernel in (first, second, third)]
        # The first kernel has run every cell of these tests, and evcxr keeps a library for each.
        for folder in folders[1:]:
            own = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            assert own < 50 * 2**20, f"{folder} holds {own / 2**20:.0f} MiB"
    deadline = time.monotonic() + 20
    while any(folder.exists() for folder in folders[1:]):
        assert time.monotonic() < deadline, "the folder of a kernel that has ended is still there"
        time.sleep(0.1)
    assert first.folder.exists()


DRIVER_COUNTERS = """
unsafe extern "C" {
    fn dlopen(name: *const std::ffi::c_char, flags: i32) -> *mut std::ffi::c_void;
    fn dlsym(library: *mut std::ffi::c_void, name: *const std::ffi::c_char) -> *mut std::ffi::c_void;
}
/// Counters of the driver (crates/fake-cuda/src/report.rs): memory, peak, allocations, refused, pinned.
fn driver_counters() -> [u64; 5] {
    let mut numbers = [0; 64];
    unsafe {
        let library = dlopen(c"libcuda.so.1".as_ptr(), 2);
        let report = dlsym(library, c"fake_cuda_report".as_ptr());
        let report: extern "C" fn(*mut u64) = std::mem::transmute(report);
        report(numbers.as_mut_ptr());
    }
    numbers[..5].try_into().unwrap()
}
"""


def five_cells_use_no_more_vram_than_one(_):
    """Runs on the fake CUDA driver, which the kernel finds in the user's LD_LIBRARY_PATH."""
    driver = pathlib.Path(os.environ["TOPICBOOK_FAKE_CUDA"])
    with tempfile.TemporaryDirectory() as folder:
        for name in ("libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1", "libnvrtc.so"):
            pathlib.Path(folder, name).symlink_to(driver)
        header = pathlib.Path(folder, "include/cuda_runtime.h")
        header.parent.mkdir()
        header.touch()
        with Kernel({"LD_LIBRARY_PATH": folder, "CUDA_PATH": folder}) as kernel:
            kernel.value("use topicbook::prelude::*;")
            # This driver's kernels do nothing, so that its GPU fails the self-check.
            kernel.value("topicbook::bench_hooks::trust_gpu(0);")
            kernel.value(DRIVER_COUNTERS)
            kernel.value("let counts = Synthetic::new(2_000, 300, 5).avg_doc_length(500).seed(3).generate()?.counts();")
            assert kernel.value("Device::Auto.describe()") == '"CUDA GPU 0"'
            cells = []
            for _ in range(5):
                kernel.value("let fit = TopicModel::new(5).epochs(3).quiet().fit(&counts)?;")
                cells.append(json.loads(kernel.value("driver_counters()")))
            memory, peaks, allocations, refused, pinned = zip(*cells)
            assert set(memory) == {0} and set(refused) == {0}, cells
            assert min(peaks) > 0 and len(set(peaks)) == 1, cells
            assert len(set(pinned[1:])) == 1, cells
            assert len({after - before for before, after in zip(allocations[1:], allocations[2:])}) == 1, cells


LIBRARY = """
pub mod prelude { pub use crate::Matrix; }
pub struct Matrix(usize);
impl Matrix {
    pub fn new(rows: usize, _: usize, _: Vec<f32>) -> Result<Self, std::fmt::Error> { Ok(Self(rows)) }
    pub fn rows(&self) -> usize { self.0 }
}
"""


@contextlib.contextmanager
def another_library(source, seconds):
    """Writes a small, unbuilt library called topicbook that takes `seconds` to build; yields the environment for it."""
    with tempfile.TemporaryDirectory() as folder:
        root, cache = pathlib.Path(folder, "root"), pathlib.Path(folder, "cache")
        dylib = root / "crates/topicbook-dylib"
        for path in (root / "src", root / ".cargo", dylib / "src", cache):
            path.mkdir(parents=True)
        package = '[workspace]\nmembers = ["crates/*"]\n[package]\nname = "topicbook"\nedition = "2024"\n'
        (root / "Cargo.toml").write_text(package)
        package = '[package]\nname = "topicbook-dylib"\nedition = "2024"\n[lib]\ncrate-type = ["dylib"]\n'
        (dylib / "Cargo.toml").write_text(package + '[dependencies]\ntopicbook = { path = "../.." }\n')
        (dylib / "src/lib.rs").write_text("pub use topicbook::*;\n")
        (root / ".cargo/config.toml").write_text('[build]\nrustflags = ["-Cprefer-dynamic"]\n')
        (root / "build.rs").write_text(f"fn main() {{ std::thread::sleep(std::time::Duration::from_secs({seconds})); }}")
        (root / "src/lib.rs").write_text(source)
        subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=root, check=True)
        (cache / "bin").symlink_to(KERNELS.parent / "bin")
        yield {"TOPICBOOK_ROOT": str(root), "TOPICBOOK_CACHE": str(cache), "CARGO_TARGET_DIR": f"{folder}/target"}


def first_cell_shows_the_build_it_waits_for(_):
    with another_library(LIBRARY, 12) as env, Kernel(env) as kernel:
        library = kernel.folder / "build/libtopicbook_dylib.so"
        assert not library.exists(), "the kernel started after the build, too late for this test"
        texts = kernel.run("use topicbook::prelude::*;")
        assert not texts["error"] and not texts["stderr"], texts
        lines = texts["stdout"].splitlines()
        assert "the library is built first" in lines[0], texts
        assert any(re.fullmatch(r" *0 min \d\d s +[12] crates, now topicbook(-dylib)?", line) for line in lines[1:-1]), texts
        assert lines[-1].startswith("topicbook is built"), texts
        assert library.exists()
        kernel.value("let m = Matrix::new(3, 0, vec![])?;")
        assert kernel.value("m.rows()") == "3"
        # The next kernel finds the library built.
        with Kernel(env) as second:
            assert second.run("use topicbook::prelude::*;")["stdout"] == ""
            assert second.value("Matrix::new(2, 0, vec![])?.rows()") == "2"


def first_cell_says_why_the_library_cannot_be_built(_):
    with another_library("pub fn wrong() -> usize { true }", 2) as env, Kernel(env) as kernel:
        texts = kernel.run("use topicbook::prelude::*;")
        assert "the library could not be built" in texts["error"] and "mismatched types" in texts["error"], texts
        assert kernel.run("1 + 1")["error"], "a cell ran without the library"


def installed_kernel_starts_in_any_folder_without_our_variables(_):
    with tempfile.TemporaryDirectory() as prefix, tempfile.TemporaryDirectory() as notebooks:
        install = ["cargo", "xtask", "kernel", "install", "--prefix", prefix]
        subprocess.run(install, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
        specs = KernelSpecManager(kernel_dirs=[f"{prefix}/share/jupyter/kernels"])
        # What a Jupyter has that a desktop starts: neither Cargo in its PATH nor a variable of ours.
        desktop = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin"}
        with Kernel(specs=specs, start={"env": desktop, "cwd": notebooks}) as kernel:
            kernel.value("use topicbook::prelude::*;")
            assert kernel.value("Matrix::new(2, 1, vec![1.0, 2.0])?.rows()") == "2"
            assert kernel.value("std::env::current_dir()?") == json.dumps(os.path.realpath(notebooks))
        subprocess.run([*install, "--remove"], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
        assert not specs.get_all_specs().get("topicbook")


def crates_of_a_notebook_folder_are_built_once(_):
    with tempfile.TemporaryDirectory() as notebooks:
        # A comment that no earlier test wrote, so that the crates are built; the library's lock file has this one.
        manifest = pathlib.Path(notebooks, "topicbook.toml")
        manifest.write_text(f'# {time.time()}\n[dependencies]\nitertools = "0.14"\n')
        built = []
        for _ in range(2):
            with Kernel(start={"cwd": notebooks}) as kernel:
                # The build may be over before the first cell, which then shows nothing of it.
                kernel.run("use itertools::Itertools;")
                log = kernel.folder / "build.log"
                built.append(log.exists() and "building the crates" in log.read_text())
                kernel.value('let joined = (1..4).join("-");')
                assert kernel.value("joined") == '"1-2-3"'
                assert kernel.value("itertools::izip!(1..3, 4..6).collect_vec()") == "[(1, 4), (2, 5)]"
                assert kernel.value("topicbook::Matrix::new(2, 1, vec![1.0, 2.0])?.rows()") == "2"
        assert built == [True, False], built
        manifest.write_text('[features]\nitertools = ["0.14"]\n')
        with Kernel(start={"cwd": notebooks}) as kernel:
            texts = kernel.run("1 + 1")
            assert "only [dependencies]" in texts["error"] and str(manifest) in texts["error"], texts


def dep_of_a_crate_of_the_library_says_so(_):
    with Kernel() as kernel:
        texts = kernel.run(':dep either = "1"')
        assert "The library contains either 1." in texts["stdout"] and not texts["error"], texts
        assert kernel.value("either::Either::<u8, u8>::Left(1).is_left()") == "true"


def a_cell_that_repeats_something_is_optimised(_):
    with Kernel() as kernel:

        def level(code):
            """What rustc got: each level has a folder of its own for what is kept from cell to cell."""
            kernel.value(code)
            kept = (kernel.folder / "cells/target").glob("*/debug/incremental/metadata=*/*")
            return max(kept, key=lambda folder: folder.stat().st_mtime).parent.name[-1]

        assert level("let a = 1;") == "0"
        kernel.value("fn squares(n: u64) -> u64 { (0..n).map(|i| i * i).sum() }")
        assert level("squares(3)") == "2"
        assert level("a + 1") == "0"
        assert kernel.value("for i in 0..2 { print!(\"{i}\") }") == ""


def clear_forgets_variables_and_not_the_library(_):
    with Kernel() as kernel:
        # The first value with a `?` is shown as any other.
        value = "topicbook::Matrix::new(1, 2, vec![1.0, 2.0])?"
        assert "text/html" in kernel.run(value)["kinds"]
        kernel.value("let gone = topicbook::Terms::new([\"a\"])?;")
        assert not kernel.run(":clear")["error"]
        assert "text/html" in kernel.run(value)["kinds"]
        assert "gone" in kernel.run("gone")["error"]


def kernel_without_its_repository_says_so_below_the_first_cell(_):
    with Kernel({"TOPICBOOK_ROOT": "/nowhere"}) as kernel:
        texts = kernel.run("1 + 1")
        assert "/nowhere" in texts["error"] and "kernel install" in texts["error"], texts


def code_in_a_fold_runs_and_its_output_stands_there(_):
    cell = "Two [notebooks](b.ipynb).\n\n<details><summary>Answer</summary>\n\n```rust\n20 + 22\n```\n\nEven.\n\n</details>"
    with tempfile.TemporaryDirectory() as folder:
        path, page = (pathlib.Path(folder, name) for name in ("a.ipynb", "build/a.md"))
        for code, status, output in [("20 + 22", 0, "42"), ("no_such_name", 1, "no_such_name")]:
            cells = [nbformat.v4.new_markdown_cell(cell.replace("20 + 22", code))]
            nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
            assert run_notebook.main(path, page.parent, folder) == status
            text = page.read_text()
            fold = text[text.index("<details>") : text.index("</details>")]
            assert "(b.md)" in text and output in fold.split("<!-- output -->")[1].split("Even.")[0], text


TESTS = [
    first_cell_needs_no_dep,
    standard_types_infer,
    prelude_keeps_the_standard_result,
    failed_question_mark_keeps_variables,
    panic_keeps_earlier_variables,
    a_fit_survives_a_later_line_that_fails,
    a_failed_cell_keeps_the_values_of_the_names_it_binds_again,
    a_variable_that_is_gone_has_its_reason,
    variables_of_own_types_stay,
    text_is_shown_whole_below_its_own_cell,
    a_value_that_takes_a_variable_is_shown_as_a_picture,
    a_chart_that_cannot_be_drawn_fails_its_cell,
    a_result_that_nobody_uses_is_an_error,
    cells_after_a_failed_one_are_not_run,
    output_is_shown_below_its_own_cell,
    a_cell_can_show_several_values,
    compile_error_is_shown_at_its_place,
    brackets_and_large_files_end_no_process,
    forgotten_question_mark_is_named,
    completion_knows_our_methods,
    completion_knows_file_names,
    inspection_shows_our_documentation,
    every_public_function_is_walked,
    every_result_binds_and_every_type_shows,
    polars_types_bind,
    outlined_functions_of_polars_exist,
    tasks_of_an_analyst_take_one_line,
    completion_offers_nothing_private,
    three_kernels_share_one_build,
    stop_button_ends_a_fit_and_keeps_it,
    stop_button_ends_other_work_and_keeps_variables,
    a_running_fit_is_watched_in_one_output,
    a_control_runs_its_function_again,
    progress_is_one_output,
    killed_fit_resumes_in_a_new_kernel,
    a_new_kernel_finds_a_run_of_ranks,
    stop_button_ends_ranks_and_keeps_the_fit,
    five_cells_use_no_more_vram_than_one,
    first_cell_shows_the_build_it_waits_for,
    first_cell_says_why_the_library_cannot_be_built,
    installed_kernel_starts_in_any_folder_without_our_variables,
    crates_of_a_notebook_folder_are_built_once,
    dep_of_a_crate_of_the_library_says_so,
    a_cell_that_repeats_something_is_optimised,
    clear_forgets_variables_and_not_the_library,
    kernel_without_its_repository_says_so_below_the_first_cell,
    code_in_a_fold_runs_and_its_output_stands_there,
    interrupt_ends_the_cell_and_the_kernel_goes_on,
]


def main(part=""):
    tests = [test for test in TESTS if part in test.__name__ or test is TESTS[0]]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), Kernel() as kernel:
        return run_tests("kernel", tests, kernel)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
