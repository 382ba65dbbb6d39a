//! Where the terms of a text stand in it.

use std::ops::Range;

use super::{Scratch, Tokenizer};

/// A word that is kept: where it stands in the joined words, and where in the text.
struct Place {
    joined: (usize, usize),
    text: (usize, usize),
}

impl Tokenizer {
    /// Calls `visit` as [`for_each_term`](Self::for_each_term) does, and with the bytes of the text that the term stands for:
    /// of several words, from the first to the last. A word that a function of one's own made up stands nowhere.
    pub(crate) fn for_each_located_term(
        &self,
        text: &str,
        visit: &mut impl FnMut(Range<usize>, &str),
    ) {
        let Scratch {
            mut lower,
            mut plain,
            mut joined,
            mut spans,
        } = Scratch::default();
        let prepared = self.prepared(text, &mut lower, &mut plain);
        let origins = self.origins(text, prepared);
        let mut places: Vec<Place> = Vec::new();
        let mut cursor = 0;
        self.words.for_each(prepared, &mut |word| {
            // Words come in their order, and no word stands between two of them.
            let found = prepared[cursor..].find(word);
            let start = found.map_or(cursor, |at| cursor + at);
            let end = found.map_or(cursor, |_| start + word.len());
            cursor = end;
            let Some(token) = self.token(word) else {
                return;
            };
            if !joined.is_empty() {
                joined.push(self.between);
            }
            let begin = joined.len();
            joined.push_str(&token);
            spans.push((begin, joined.len()));
            places.push(Place {
                joined: (begin, joined.len()),
                text: (origins.of(start), origins.of(end)),
            });
        });
        self.for_each_ngram(&mut joined, &mut spans, &mut |joined, (start, end)| {
            let first = places.partition_point(|place| place.joined.0 < start);
            let last = places.partition_point(|place| place.joined.1 < end);
            visit(
                places[first].text.0..places[last].text.1,
                &joined[start..end],
            );
        });
    }

    /// Where the bytes of the prepared text come from.
    fn origins(&self, text: &str, prepared: &str) -> Origins {
        // The lower case and the accents of a character depend on no other one, except for a sigma, whose two lower cases are
        // equally long.
        let same = text.is_ascii() || std::ptr::eq(text, prepared);
        let (mut lower, mut plain) = (String::new(), String::new());
        let mut at = 0;
        let steps = text
            .char_indices()
            .filter(|_| !same)
            .map(|(start, character)| {
                let character = &text[start..start + character.len_utf8()];
                let step = (at, start);
                at += self.prepared(character, &mut lower, &mut plain).len();
                step
            });
        let mut steps: Vec<(usize, usize)> = steps.collect();
        if !same {
            steps.push((prepared.len(), text.len()));
        }
        Origins(steps)
    }
}

/// Where each character of a text begins in the prepared text, and in the text itself; nothing where they are the same.
struct Origins(Vec<(usize, usize)>);

impl Origins {
    /// Where the character begins in the text that holds this byte of the prepared text. Marks that were dropped belong to
    /// the character before them, so this is also where the one before ends.
    fn of(&self, byte: usize) -> usize {
        match self.0.partition_point(|step| step.0 <= byte) {
            0 => byte,
            steps => self.0[steps - 1].1,
        }
    }
}
