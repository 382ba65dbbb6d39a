//! The controls of `interact`: models of ipywidgets.

use std::ops::{Range, RangeInclusive};

use serde_json::{Map, Value, json};

use super::model;

/// What [`interact`](super::interact) shows a control for; its table lists them.
///
/// ```
/// use topicbook::interact;
/// assert!(interact(("lowercase", true), |on| on).value());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no control",
    note = "pass a range (`0.0..=1.0`, `2..=50`), a list of texts, `true` or `false`, a pair of a name and one of them, or several in \
            parentheses"
)]
pub trait Control {
    /// What the function gets.
    type Value: 'static;

    #[doc(hidden)]
    const PARTS: usize;

    #[doc(hidden)]
    fn parts(self, name: &str, parts: &mut Vec<Part>);

    #[doc(hidden)]
    fn value(values: &[Value]) -> Self::Value;
}

/// One control.
#[doc(hidden)]
#[derive(Clone)]
pub struct Part {
    kind: &'static str,
    pub(super) style: &'static str,
    /// What of the state the front end changes.
    pub(super) key: &'static str,
    /// The state of this kind alone.
    more: Map<String, Value>,
    name: String,
    /// The lowest and the highest number, or none.
    limits: [f64; 2],
    choices: Vec<String>,
    position: Value,
}

impl Part {
    fn new(kind: &'static str, style: &'static str, name: &str, position: Value) -> Self {
        Self {
            kind,
            style,
            key: "value",
            more: Map::new(),
            name: name.into(),
            limits: [f64::NEG_INFINITY, f64::INFINITY],
            choices: Vec::new(),
            position,
        }
    }

    fn slider(kind: &'static str, name: &str, limits: [f64; 2], whole: bool) -> Self {
        let [low, high] = limits;
        let number = |value: f64| match whole {
            true => json!(value as i64),
            false => json!(value),
        };
        let middle = (low + high) / 2.0;
        let step = if whole { 1.0 } else { (high - low) / 100.0 };
        let mut part = Self::new(kind, "SliderStyle", name, number(middle));
        part.limits = limits;
        part.more.insert("min".into(), number(low));
        part.more.insert("max".into(), number(high));
        part.more.insert("step".into(), number(step));
        let format = if whole { "d" } else { ".3g" };
        part.more.insert("readout_format".into(), format.into());
        part
    }

    /// `lambda: `, or nothing.
    pub(super) fn name(&self) -> String {
        match self.name.as_str() {
            "" => String::new(),
            name => format!("{name}: "),
        }
    }

    /// Where it stands, as the front end says it.
    pub(super) fn position(&self) -> Value {
        self.position.clone()
    }

    /// What it stands for.
    pub(super) fn value(&self) -> Value {
        let choice = self
            .position
            .as_u64()
            .and_then(|at| self.choices.get(at as usize));
        choice.map_or_else(|| self.position(), |choice| choice.as_str().into())
    }

    /// Takes a new state of the front end. Returns whether the position has changed.
    pub(super) fn take(&mut self, state: &Value) -> bool {
        let new = match (&state[self.key], &self.position) {
            (Value::Bool(on), Value::Bool(_)) => json!(on),
            (new @ Value::Number(_), Value::Number(_)) if self.key == "index" => {
                match new
                    .as_u64()
                    .is_some_and(|at| (at as usize) < self.choices.len())
                {
                    true => new.clone(),
                    false => return false,
                }
            }
            (Value::Number(new), Value::Number(old)) => {
                let new = new
                    .as_f64()
                    .unwrap_or_default()
                    .clamp(self.limits[0], self.limits[1]);
                match old.is_i64() {
                    true => json!(new as i64),
                    false => json!(new),
                }
            }
            _ => return false,
        };
        std::mem::replace(&mut self.position, new.clone()) != new
    }

    /// The state of its model.
    pub(super) fn state(&self, layout: &str, style: &str) -> Value {
        let mut state = model(
            "@jupyter-widgets/controls",
            self.kind,
            &format!("{}View", self.kind),
        );
        let common = json!({
            "_dom_classes": [],
            "description": self.name,
            "disabled": false,
            "layout": layout,
            "style": style,
            "tabbable": null,
            "tooltip": null,
        });
        if let (Some(state), Value::Object(common)) = (state.as_object_mut(), common) {
            state.extend(common);
            state.extend(self.more.clone());
            state.insert(self.key.into(), self.position());
        }
        state
    }
}

macro_rules! sliders {
    ($($T:ty: $kind:literal, $whole:literal;)+) => {$(
        impl Control for RangeInclusive<$T> {
            type Value = $T;
            const PARTS: usize = 1;

            fn parts(self, name: &str, parts: &mut Vec<Part>) {
                let limits = [*self.start() as f64, *self.end() as f64];
                parts.push(Part::slider($kind, name, limits, $whole));
            }

            fn value(values: &[Value]) -> $T {
                values[0].as_f64().unwrap_or_default() as $T
            }
        }

        impl Control for Range<$T> {
            type Value = $T;
            const PARTS: usize = 1;

            fn parts(self, name: &str, parts: &mut Vec<Part>) {
                let low = self.start as f64;
                let high = self.end as f64 - f64::from(u8::from($whole));
                parts.push(Part::slider($kind, name, [low, high.max(low)], $whole));
            }

            fn value(values: &[Value]) -> $T {
                <RangeInclusive<$T> as Control>::value(values)
            }
        }
    )+};
}

// One type of integers, so that the type of a bare `2..=50` is known.
sliders! {
    f64: "FloatSlider", false;
    usize: "IntSlider", true;
}

fn choice(name: &str, choices: Vec<String>, parts: &mut Vec<Part>) {
    let mut part = Part::new("Dropdown", "DescriptionStyle", name, json!(0));
    part.key = "index";
    part.more.insert("_options_labels".into(), json!(choices));
    part.choices = choices;
    parts.push(part);
}

fn chosen(values: &[Value]) -> String {
    values[0].as_str().unwrap_or_default().into()
}

macro_rules! choices {
    ($([$($of:tt)*] $T:ty;)+) => {$(
        impl<$($of)*> Control for $T {
            type Value = String;
            const PARTS: usize = 1;

            fn parts(self, name: &str, parts: &mut Vec<Part>) {
                choice(name, self.into_iter().map(|choice| choice.to_string()).collect(), parts);
            }

            fn value(values: &[Value]) -> String {
                chosen(values)
            }
        }
    )+};
}

choices! {
    [const N: usize] [&str; N];
    [const N: usize] [String; N];
    [] Vec<&str>;
    [] Vec<String>;
}

impl Control for bool {
    type Value = bool;
    const PARTS: usize = 1;

    fn parts(self, name: &str, parts: &mut Vec<Part>) {
        let mut part = Part::new("Checkbox", "CheckboxStyle", name, json!(self));
        part.more.insert("indent".into(), json!(false));
        parts.push(part);
    }

    fn value(values: &[Value]) -> bool {
        values[0].as_bool().unwrap_or_default()
    }
}

impl<C: Control> Control for (&str, C) {
    type Value = C::Value;
    const PARTS: usize = C::PARTS;

    fn parts(self, _name: &str, parts: &mut Vec<Part>) {
        self.1.parts(self.0, parts);
    }

    fn value(values: &[Value]) -> C::Value {
        C::value(values)
    }
}

macro_rules! several {
    ($($C:ident $at:tt),+) => {
        impl<$($C: Control),+> Control for ($($C,)+) {
            type Value = ($($C::Value,)+);
            const PARTS: usize = 0 $(+ $C::PARTS)+;

            fn parts(self, name: &str, parts: &mut Vec<Part>) {
                $(self.$at.parts(name, parts);)+
            }

            fn value(values: &[Value]) -> Self::Value {
                let mut rest = values;
                ($($C::value(rest.split_off(..$C::PARTS).unwrap_or_default()),)+)
            }
        }
    };
}

several!(A 0, B 1);
several!(A 0, B 1, C 2);
several!(A 0, B 1, C 2, D 3);
