//! Controls below a cell that run a function of the cell again: sliders, choices, check boxes.

mod control;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::error::panic_text;
use crate::evcxr::{captured, show_text};
use crate::system::{Comm, LiveOutput, lock};

pub use control::Control;
use control::Part;

/// What a function has shown, by MIME type.
type Forms = Vec<(String, String)>;
type Show<V> = Arc<Mutex<Box<dyn FnMut(V) -> Forms + Send>>>;

/// Controls below a cell, and what a function makes of their values; [`interact`] makes it.
pub struct Interact<V> {
    /// Where the controls stand.
    parts: Arc<Mutex<Vec<Part>>>,
    read: fn(&[Value]) -> V,
    show: Show<V>,
}

/// Shows controls below the cell, and what `show` returns for their values; `show` runs again whenever one is moved, without a
/// compilation. The function owns what it uses: write `move` and clone what later cells need, such as `let fit = fit.clone();`.
///
/// | Control | its value | is |
/// |---|---|---|
/// | `0.0..=1.0`, `2..=50` | `f64`, `usize` | a slider that starts in the middle |
/// | `["cosine", "hellinger"]`, `fit.topic_names()` | `String` | a list to choose from, the first at the start |
/// | `true` | `bool` | a check box |
/// | `("topics", 2..=50)` | as without a name | the same with a name before it |
/// | two to four of them in parentheses | a tuple | all of them |
///
/// It needs the widgets of Jupyter (ipywidgets), which JupyterLab of `cargo xtask lab` and VS Code have. In a saved notebook and
/// in a report, the last result stands below the cell.
///
/// ```
/// use topicbook::prelude::*;
/// # let (_, fit) = topicbook::example_fit()?;
/// let shown = fit.clone();
/// let lambda = interact(("lambda", 0.0..=1.0), move |lambda| {
///     shown.terms_of_topic_by(0, 5, TermScore::Relevance(lambda))
/// });
/// assert_eq!(lambda.value(), 0.5); // where the slider stands
/// let both = interact((("topic", fit.topic_names()), ("terms", 1..=9)), move |(topic, terms)| {
///     fit.terms_of_topic(&topic, terms)
/// });
/// assert_eq!(both.value(), ("topic 0".to_string(), 5));
/// # Ok::<(), Error>(())
/// ```
#[doc(alias("widget", "slider", "ipywidgets"))]
pub fn interact<C: Control, T: InteractOutput>(
    controls: C,
    mut show: impl FnMut(C::Value) -> T + Send + 'static,
) -> Interact<C::Value> {
    let mut parts = Vec::new();
    controls.parts("", &mut parts);
    Interact {
        parts: Arc::new(Mutex::new(parts)),
        read: C::value,
        show: Arc::new(Mutex::new(Box::new(move |value| {
            captured(|| {
                let shown = catch_unwind(AssertUnwindSafe(|| show(value).show()));
                if let Err(panic) = shown {
                    let text = panic_text(panic.as_ref());
                    show_text(&format!("the function panicked: {text}"));
                }
            })
        }))),
    }
}

impl<V: 'static> Interact<V> {
    /// Where the controls stand now.
    ///
    /// ```
    /// use topicbook::interact;
    /// let chosen = interact(["cosine", "hellinger"], |name| format!("the distance is {name}"));
    /// assert_eq!(chosen.value(), "cosine");
    /// ```
    pub fn value(&self) -> V {
        read(self.read, &lock(&self.parts))
    }

    /// Shows the controls and the result below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let forms = lock(&self.show)(self.value());
        let Some(output) = LiveOutput::new() else {
            return show_text(&text_of(&forms));
        };
        let (sender, inbox) = channel();
        let mut models = Vec::new();
        for part in lock(&self.parts).iter() {
            let mut open = |state: Value| {
                let comm = Comm::open(&state, models.len(), sender.clone());
                let reference = comm.reference();
                models.push((comm, state));
                reference
            };
            let layout = open(model("@jupyter-widgets/base", "Layout", "LayoutView"));
            let style = open(model("@jupyter-widgets/controls", part.style, "StyleView"));
            open(part.state(&layout, &style));
            let (comm, _) = &models[models.len() - 1];
            let text = format!("{}{}", part.name(), part.value());
            if let Some(below) = LiveOutput::new() {
                below.show(&[(VIEW, &comm.view()), ("text/plain", &text)]);
            }
        }
        show(&output, &forms);
        let at_work = AtWork {
            models,
            parts: self.parts.clone(),
            read: self.read,
            show: self.show.clone(),
            output,
        };
        thread::spawn(move || at_work.run(&inbox));
    }
}

const VIEW: &str = "application/vnd.jupyter.widget-view+json";
/// Models of each control: its layout, its style and itself.
const MODELS: usize = 3;

/// Controls that are shown, on a thread that waits until they are moved.
struct AtWork<V> {
    models: Vec<(Comm, Value)>,
    parts: Arc<Mutex<Vec<Part>>>,
    read: fn(&[Value]) -> V,
    show: Show<V>,
    output: LiveOutput,
}

impl<V> AtWork<V> {
    fn run(mut self, inbox: &Receiver<(usize, Value)>) {
        while let Ok(first) = inbox.recv() {
            // While the function runs, a slider is moved on: only where it stands now is shown.
            let moved = std::iter::once(first).chain(inbox.try_iter());
            let moved = moved.fold(false, |moved, (model, data)| {
                self.take(model, &data) || moved
            });
            if !moved {
                continue;
            }
            let value = read(self.read, &lock(&self.parts));
            let forms = lock(&self.show)(value);
            show(&self.output, &forms);
        }
    }

    /// Handles a message of a front end. Returns whether a control was moved.
    fn take(&mut self, model: usize, data: &Value) -> bool {
        let (comm, state) = &mut self.models[model];
        if data["method"] == "request_state" {
            comm.send_state(state);
            return false;
        }
        let part = &mut lock(&self.parts)[model / MODELS];
        let moved = part.take(&data["state"]);
        if moved {
            state[part.key] = part.position();
        }
        moved
    }
}

/// What the function gets where the controls stand.
fn read<V>(read: fn(&[Value]) -> V, parts: &[Part]) -> V {
    let values: Vec<Value> = parts.iter().map(Part::value).collect();
    read(&values)
}

/// The state of a model of ipywidgets.
fn model(module: &str, name: &str, view: &str) -> Value {
    let view_module = match view {
        "StyleView" => "@jupyter-widgets/base",
        _ => module,
    };
    json!({
        "_model_module": module,
        "_model_module_version": "2.0.0",
        "_model_name": format!("{name}Model"),
        "_view_module": view_module,
        "_view_module_version": "2.0.0",
        "_view_name": view,
    })
}

fn show(output: &LiveOutput, forms: &Forms) {
    let forms: Vec<(&str, &str)> = forms
        .iter()
        .map(|(kind, content)| (kind.as_str(), content.as_str()))
        .collect();
    output.show(&forms);
}

fn text_of(forms: &Forms) -> String {
    let text = forms.iter().find(|(kind, _)| kind == "text/plain");
    text.map(|(_, text)| text.clone()).unwrap_or_default()
}

impl<V: fmt::Debug + 'static> fmt::Debug for Interact<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interact")
            .field("value", &self.value())
            .finish_non_exhaustive()
    }
}

/// What the function of [`interact`] returns: what a cell can show.
///
/// ```
/// use topicbook::interact;
/// // A `Result` of it, too: an error stands in its place.
/// let halves = interact(1..=9, |number| if number % 2 == 0 { Ok(number / 2) } else { Err("odd") });
/// assert_eq!(halves.value(), 5);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shown below a control",
    note = "return a chart, a table, a fit, a text, a number, `html(..)` or `markdown(..)`, or a `Result` of one"
)]
pub trait InteractOutput {
    #[doc(hidden)]
    fn show(&self);
}

macro_rules! shows {
    ($($T:ty),+ $(,)?) => {$(
        impl InteractOutput for $T {
            fn show(&self) {
                self.evcxr_display();
            }
        }
    )+};
}

shows!(
    crate::Chart,
    crate::Table,
    crate::Words,
    crate::Fit,
    crate::Plan,
    crate::Explorer,
    crate::ByLabel,
    crate::Matrix,
    crate::Evaluation,
    super::Shown,
);

macro_rules! texts {
    ($($T:ty),+ $(,)?) => {$(
        impl InteractOutput for $T {
            fn show(&self) {
                show_text(&self.to_string());
            }
        }
    )+};
}

texts!(String, &str, bool, f32, f64, i32, i64, u32, u64, usize);

impl<T: InteractOutput, E: fmt::Display> InteractOutput for Result<T, E> {
    fn show(&self) {
        match self {
            Ok(value) => value.show(),
            Err(error) => show_text(&error.to_string()),
        }
    }
}
