//! The number of topics that each method finds: drawn corpora whose number is known, and short pieces of real texts.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use topicbook::{Counts, Result, Solver, SweepFits, TopicModel};

use super::{PEERS, Parts, Peers, Record, TIMES, arguments::number, record};

/// Mean lengths of documents, in tokens; most are short.
const LENGTHS: [usize; 10] = [8, 10, 15, 20, 30, 60, 120, 400, 1000, 5000];
const TOPICS: [usize; 8] = [2, 3, 5, 8, 10, 15, 20, 40];
/// The numbers that are tried, in thirds of the true one.
const TRIED: [usize; 5] = [1, 2, 3, 4, 6];
/// Maximum tokens of a corpus, which limit the peers' time.
const TOKENS: usize = 400_000;
const SEEDS: usize = 2;
/// Numbers of topics that are tried on real texts, and their lengths.
const TRIED_ON_TEXTS: [usize; 4] = [5, 10, 20, 40];
const LENGTHS_OF_TEXTS: [usize; 3] = [8, 20, 60];
/// Minimum CPU seconds that a peer has for a fit.
const LEAST_SECONDS: f64 = 0.5;
/// The maximum, with which a hundred corpora take two hours.
const MOST_SECONDS: f64 = 4.0;
const OURS: &str = "coordinate descent";

impl Peers<'_> {
    pub fn numbers(&self, mut record: Record<'_>, corpora: usize, rest: &[String]) -> Result<()> {
        let [seconds, texts @ ..] = rest else {
            panic!("the seconds are missing");
        };
        let end = Instant::now() + Duration::from_secs(number(seconds) as u64);
        let mut cells = record.cells("numbers");
        for file in texts {
            let (name, path) = file.split_once('=').unwrap_or((file, file));
            for tokens in LENGTHS_OF_TEXTS {
                let corpus = format!("{name}, {tokens} tokens of each");
                if cells.iter().any(|cell| cell["corpus"] == *corpus) {
                    continue;
                }
                self.call(&["cut", path, &tokens.to_string(), "1"]);
                let mut cell = self.compare(&TRIED_ON_TEXTS)?;
                cell["corpus"] = corpus.into();
                println!("{cell}");
                cells.push(cell);
                record.write("numbers", &cells);
            }
        }
        for corpus in 0..corpora {
            if Instant::now() > end {
                break;
            }
            let drawn = Drawn::of(corpus as u64);
            if cells.iter().any(|cell| drawn.is(&cell["drawn"])) {
                continue;
            }
            self.call(&drawn.arguments(corpus).each_ref().map(String::as_str));
            let mut cell = self.compare(&drawn.tried())?;
            cell["topics"] = drawn.topics.into();
            cell["tokens"] = drawn.tokens.into();
            cell["drawn"] = json!([
                drawn.documents,
                drawn.terms,
                drawn.concentration,
                drawn.parameter
            ]);
            println!("{cell}");
            cells.push(cell);
            record.write("numbers", &cells);
        }
        Ok(())
    }

    /// Sweeps over the numbers, with all methods.
    fn compare(&self, tried: &[usize]) -> Result<Value> {
        let parts = Parts::of(&Counts::open(self.folder.join("drawn.npz"))?)?;
        self.write(&parts)?;
        let mut arguments = vec!["sweep".to_string(), "1".to_string()];
        let mut results = Map::new();
        let model = TopicModel::new(1).solver(Solver::coordinate_descent());
        let sweep = TopicModel::sweep(tried).model(model).seeds(SEEDS).quiet();
        let before: f64 = record::cpu_seconds().iter().sum();
        let sweep = sweep.held_out(&parts.held_out).fit(&parts.train)?;
        let spent = record::cpu_seconds().iter().sum::<f64>() - before;
        // A fit takes time in proportion to its number of topics.
        let all: usize = tried.iter().sum();
        arguments.extend(tried.iter().map(|k| {
            let own = spent / SEEDS as f64 * *k as f64 / all as f64;
            format!("{k}={}", (TIMES * own).clamp(LEAST_SECONDS, MOST_SECONDS))
        }));
        let mut recommended = json!({ OURS: number_of(&sweep.recommendation()) });
        results.insert(OURS.into(), scores(&sweep));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let peers = self.call(&arguments);
        for peer in PEERS {
            let best = |scores: &Map<String, Value>| {
                let pairs = scores
                    .iter()
                    .filter_map(|(k, score)| Some((k, score.as_f64()?)));
                let best = pairs.max_by(|one, other| one.1.total_cmp(&other.1))?;
                best.0.parse::<usize>().ok()
            };
            recommended[peer] = peers[peer].as_object().and_then(best).into();
            results.insert(peer.into(), peers[peer].clone());
        }
        Ok(json!({
            "tried": tried,
            "documents": [parts.train.documents(), parts.held_out.documents()],
            "terms": parts.train.terms(),
            "uniform": -(parts.train.terms() as f64).ln(),
            "recommended": recommended,
            "scores": results,
        }))
    }
}

/// A corpus that is drawn from its number.
struct Drawn {
    documents: usize,
    terms: usize,
    topics: usize,
    tokens: usize,
    /// Of the proportions' prior.
    concentration: f64,
    /// Each parameter of the topics' prior.
    parameter: f64,
}

impl Drawn {
    fn of(corpus: u64) -> Self {
        // SplitMix64: numbers from 0 to 1 that depend on the corpus and on the question alone.
        let random = |question: u64| {
            let mut z = (corpus * 16 + question + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let between = |question, low: f64, high: f64| low * (high / low).powf(random(question));
        let tokens = LENGTHS[(random(0) * LENGTHS.len() as f64) as usize];
        let most = (TOKENS / tokens).clamp(1000, 20_000);
        Self {
            documents: between(1, 1000.0, most as f64 + 0.5) as usize,
            terms: between(2, 200.0, 4000.0) as usize,
            topics: TOPICS[(random(3) * TOPICS.len() as f64) as usize],
            tokens,
            concentration: between(4, 0.3, 3.0),
            parameter: between(5, 0.02, 0.2),
        }
    }

    /// Whether a record's cell is of this corpus.
    fn is(&self, cell: &Value) -> bool {
        cell[0] == self.documents && cell[1] == self.terms
    }

    fn arguments(&self, corpus: usize) -> [String; 8] {
        [
            "draw".into(),
            self.documents.to_string(),
            self.terms.to_string(),
            self.topics.to_string(),
            self.tokens.to_string(),
            self.concentration.to_string(),
            self.parameter.to_string(),
            corpus.to_string(),
        ]
    }

    /// The numbers that are tried, in increasing order: the true one is among them.
    fn tried(&self) -> Vec<usize> {
        let mut tried: Vec<usize> = TRIED
            .map(|thirds| (self.topics * thirds + 1) / 3)
            .into_iter()
            .filter(|k| *k > 0)
            .collect();
        tried.dedup();
        tried
    }
}

/// The number that a recommendation begins with; `None` where there is none.
fn number_of(recommendation: &str) -> Option<usize> {
    recommendation.split(' ').next()?.parse().ok()
}

/// The mean score of each number of topics.
fn scores(sweep: &SweepFits) -> Value {
    let scores = sweep.table().numbers("score_per_token").unwrap_or_default();
    let pairs = sweep.topics().into_iter().zip(scores);
    let pairs = pairs.map(|(k, score)| (k.to_string(), Value::from(score)));
    Value::Object(pairs.collect())
}
