//! Targets that take settings.

use topicbook::{Budget, ByteSize, Counts, Device, Settings, TopicModel};

use crate::outcome::Outcome;

fn small_counts() -> Counts {
    Counts::dense(4, 3, vec![1u8, 0, 2, 3, 1, 0, 0, 5, 1, 2, 2, 2]).expect("counts of 4 documents")
}

/// A text as a size in bytes, and as the budget of a plan.
pub(crate) fn byte_size(_: &str, data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let Ok(size) = text.parse::<ByteSize>() else {
        assert!(Budget::new().ram(&*text).is_err());
        return Outcome::Refused;
    };
    assert!(size.bytes() > 0, "{text:?} is no size");
    let budget = Budget::new().ram(size).and_then(|b| b.vram(&*text));
    let budget = budget.expect("what is a size is a budget");
    let model = TopicModel::new(2).device(Device::Cpu).budget(budget);
    match model.plan(small_counts()) {
        Ok(plan) => assert!(!plan.to_string().is_empty()),
        Err(error) => assert!(error.remedy().is_some(), "{error}"),
    }
    Outcome::Accepted(None)
}

/// Settings as a saved fit holds them: plans a fit with them, and runs its first epochs.
pub(crate) fn settings(_: &str, data: &[u8]) -> Outcome {
    let Ok(mut settings) = serde_json::from_slice::<Settings>(data) else {
        return Outcome::Refused;
    };
    let counts = small_counts();
    if let Ok(plan) = TopicModel::from_settings(&settings).plan(&counts) {
        assert!(!plan.to_string().is_empty());
    }
    settings.epochs = settings.epochs.min(2);
    match TopicModel::from_settings(&settings).quiet().fit(&counts) {
        Ok(fit) => {
            assert!(fit.l().values().iter().all(|weight| weight.is_finite()));
            Outcome::Accepted(None)
        }
        Err(_) => Outcome::Refused,
    }
}
