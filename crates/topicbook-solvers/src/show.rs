//! Notebook display of settings, and of tables of rows.

use crate::config::{
    Cluster, Device, FullPass, GradientStep, MiniBatch, Optimizer, Precision, Settings, Solver,
    TableStorage,
};
use crate::evcxr::shown;
use crate::row_table::{RowTable, RowTableBuilder};
use crate::text::{Card, bytes, count, counted};

impl Settings {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        settings_card(&format!("Settings, k = {}", self.topics), self)
            .row("device", self.device.describe())
            .show();
    }
}

shown! {
    Solver: |solver| solver.to_string();
    Optimizer: |rule| Card::new("Optimizer").row("update rule", rule.to_string());
    GradientStep: |step| Card::new("Gradient step").row("gradients by", step.to_string());
    Precision: |precision| Card::new("Precision").row("tables", precision.to_string());
    TableStorage: |storage| storage.to_string();
    Device: |device| device.describe();
    Cluster: |cluster| Card::new("Cluster").row("ranks", cluster.to_string());
    MiniBatch: |steps| with_mini_batch(Card::new("Parameters of gradient steps"), steps);
    FullPass: |passes| with_full_pass(Card::new("Parameters of full passes"), passes);
}

/// A card with the settings of a model or a fit.
#[doc(hidden)]
pub fn settings_card(title: &str, settings: &Settings) -> Card {
    let card = Card::new(title);
    let card = match &settings.solver {
        Solver::MiniBatch(parameters) => with_mini_batch(
            card.row("epochs", count(settings.epochs as u64)),
            parameters,
        ),
        Solver::Em(parameters)
        | Solver::CoordinateDescent(parameters)
        | Solver::Auto(parameters) => {
            let card = card.row("solver", settings.solver.to_string()).row(
                "iterations",
                format!("at most {}", count(settings.epochs as u64)),
            );
            with_full_pass(card, parameters)
        }
    };
    let card = card.row("seed", settings.seed.to_string());
    match settings.smoothing > 0.0 {
        true => card.row(
            "smoothing",
            format!("{} tokens of every term in each topic", settings.smoothing),
        ),
        false => card,
    }
}

/// Adds the parameters of gradient steps to a card.
fn with_mini_batch(card: Card, parameters: &MiniBatch) -> Card {
    let periods = match parameters.t_mult {
        1 => String::new(),
        factor => format!(", each period {factor} times the one before"),
    };
    let card = card
        .row("batch size", counted(parameters.batch_size, "document"))
        .row(
            "learning rate",
            format!(
                "{} to {}, restart every {} epochs{periods}",
                parameters.max_lr, parameters.base_lr, parameters.t_0
            ),
        )
        .row("optimizer", parameters.optimizer.to_string())
        .row("logits of L in", parameters.table_storage.to_string())
        .row("weight decay", parameters.weight_decay.to_string());
    let rows = [
        (
            parameters.table_precision != Precision::F32,
            "logits of L stored in",
            format!("{}, rounded stochastically", parameters.table_precision),
        ),
        (
            parameters.gpu_precision != Precision::F32,
            "tables on the GPU",
            format!("{}, sums in f32", parameters.gpu_precision),
        ),
        (
            parameters.step != GradientStep::Fused,
            "gradients by",
            parameters.step.to_string(),
        ),
        (
            parameters.micro_batch.is_some(),
            "micro-batch",
            counted(parameters.micro_batch.unwrap_or_default(), "document"),
        ),
        (
            parameters.clips(),
            "largest norm of a gradient",
            parameters.clip_grad_norm.to_string(),
        ),
    ];
    let shown = rows.into_iter().filter(|(is_set, ..)| *is_set);
    shown.fold(card, |card, (_, name, value)| card.row(name, value))
}

/// Adds the parameters of full passes to a card.
fn with_full_pass(card: Card, parameters: &FullPass) -> Card {
    card.row("tolerance", format!("{:e}", parameters.tolerance))
}

impl RowTable {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let (rows, width) = self.shape();
        Card::new(format!(
            "Row table {} × {}",
            count(rows as u64),
            count(width as u64)
        ))
        .row("values", self.precision().to_string())
        .row("optimizer", format!("{:?}", self.optimizer()))
        .row("steps", count(self.steps()))
        .row(
            "size",
            format!("{} with the optimizer's state", bytes(self.bytes())),
        )
        .row("where", self.location())
        .show();
    }
}

impl RowTableBuilder {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new(format!(
            "Settings of a row table {} × {}",
            count(self.rows as u64),
            count(self.width as u64)
        ))
        .note("For the table: .create()?")
        .show();
    }
}
