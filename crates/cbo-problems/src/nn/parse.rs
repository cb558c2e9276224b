//! Reading layers from a text.

use super::error::NetworkError;
use super::layer::Layer;
use super::network::{MAX_VALUES, Network};

/// What a layer may be.
const KINDS: &str = "layers are `conv MAPSxKERNEL [shared]`, `dense OUTPUTS`, `pool SIZE`, `relu` and `bn`";

/// The layers that a text describes.
pub(super) fn layers(text: &str) -> Result<Vec<Layer>, NetworkError> {
    match squeezed(text).as_str() {
        "shallow" => return Ok(Network::SHALLOW.to_vec()),
        "lenet1" => return Ok(Network::LENET1.to_vec()),
        _ => {}
    }
    let tokens = tokens(text);
    let mut items: Vec<&[Token]> = tokens.split(|token| token.kind == Kind::Separator).collect();
    // A separator at the very end is harmless; a text without a word has no layers.
    items.pop_if(|last| last.is_empty());
    if items.is_empty() {
        return Err(NetworkError::NoLayers);
    }
    let last = items.len();
    let mut layers = Vec::with_capacity(last);
    for (number, item) in (1..).zip(&items) {
        let Some(first) = item.first() else {
            // Items are split at separators, so this many separators come before the one that ends this empty item.
            let comma = tokens.iter().filter(|token| token.kind == Kind::Separator).nth(number - 1);
            let column = comma.map_or(1, |token| token.column);
            return Err(Fault { number }.at(column, "", "a layer is missing before the separator"));
        };
        match item_layer(item, Fault { number })? {
            Some(layer) => layers.push(layer),
            None if number == last => {}
            None => return Err(Fault { number }.token(first, "can only be the end of a network")),
        }
    }
    if layers.is_empty() { Err(NetworkError::NoLayers) } else { Ok(layers) }
}

/// Lower case, without spaces, dashes and underscores.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[derive(Debug)]
struct Token {
    kind: Kind,
    /// As written.
    text: String,
    /// The first character, from 1.
    column: usize,
}

#[derive(Debug, PartialEq)]
enum Kind {
    /// Letters, in lower case and without dashes and underscores.
    Word(String),
    Number,
    /// `x`, `×` or `@`.
    Times,
    Separator,
    /// A character that has no meaning here.
    Other,
}

fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(&first) = chars.get(place) {
        let arrow = |at: usize| chars[at..].starts_with(&['-', '>']);
        let run = |member: fn(char) -> bool| {
            (place..chars.len()).find(|&at| !member(chars[at]) || arrow(at)).unwrap_or(chars.len())
        };
        let (kind, end) = if arrow(place) {
            (Some(Kind::Separator), place + 2)
        } else if matches!(first, ',' | ';' | '\n' | '→') {
            (Some(Kind::Separator), place + 1)
        } else if first.is_whitespace() {
            (None, place + 1)
        } else if first.is_ascii_digit() {
            (Some(Kind::Number), run(|c| c.is_ascii_digit()))
        } else if matches!(first, '@' | '×') {
            (Some(Kind::Times), place + 1)
        } else if first.is_alphabetic() {
            let end = run(|c| c.is_alphabetic() || matches!(c, '-' | '_'));
            let word = squeezed(&chars[place..end].iter().collect::<String>());
            (Some(if word == "x" { Kind::Times } else { Kind::Word(word) }), end)
        } else {
            (Some(Kind::Other), place + 1)
        };
        if let Some(kind) = kind {
            tokens.push(Token { kind, text: chars[place..end].iter().collect(), column: place + 1 });
        }
        place = end;
    }
    tokens
}

/// The layer at which something is wrong.
#[derive(Clone, Copy)]
struct Fault {
    number: usize,
}

impl Fault {
    fn at(self, column: usize, word: &str, remedy: impl Into<String>) -> NetworkError {
        // A word may be as long as the text; its beginning identifies it. Control characters must not reach a
        // terminal.
        let (shown, rest) = word.split_at(word.char_indices().nth(24).map_or(word.len(), |(end, _)| end));
        let shown = if shown.contains(char::is_control) { shown.escape_debug().to_string() } else { shown.into() };
        let word = if rest.is_empty() { shown } else { shown + "..." };
        NetworkError::Text { number: self.number, column, word, remedy: remedy.into() }
    }

    fn token(self, token: &Token, remedy: impl Into<String>) -> NetworkError {
        self.at(token.column, &token.text, remedy)
    }
}

/// The kinds of layers that a text can name.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    Conv,
    Dense,
    Pool,
    Relu,
    BatchNorm,
    Softmax,
}

fn name(word: &str) -> Option<Name> {
    Some(match word {
        "conv" | "convolution" => Name::Conv,
        "dense" | "linear" => Name::Dense,
        "pool" | "maxpool" => Name::Pool,
        "relu" => Name::Relu,
        "bn" | "batchnorm" => Name::BatchNorm,
        "softmax" => Name::Softmax,
        _ => return None,
    })
}

/// One layer from its words and numbers, in any order; none for a softmax.
fn item_layer(item: &[Token], fault: Fault) -> Result<Option<Layer>, NetworkError> {
    let mut kind: Option<(Name, &Token)> = None;
    let mut sharing: Option<(bool, &Token)> = None;
    let mut numbers = Vec::new();
    let mut place = 0;
    while let Some(token) = item.get(place) {
        let next = item.get(place + 1).map(|token| &token.kind);
        place += 1;
        match &token.kind {
            Kind::Number => numbers.push(number(token, fault)?),
            Kind::Times => {
                let before = place.checked_sub(2).and_then(|at| item.get(at)).map(|token| &token.kind);
                if before != Some(&Kind::Number) || next != Some(&Kind::Number) {
                    return Err(fault.token(token, "must stand between two numbers, as in `conv 4x5`"));
                }
            }
            Kind::Word(word) if word == "shared" || word == "full" => {
                if sharing.is_some() {
                    return Err(fault.token(token, "repeats `shared` or `full`; write one of them"));
                }
                sharing = Some((word == "shared", token));
            }
            Kind::Word(word) => {
                // `batch norm` and `max pool` may be written apart.
                let joined = match next {
                    Some(Kind::Word(second)) => name(&format!("{word}{second}")),
                    _ => None,
                };
                place += usize::from(joined.is_some());
                let Some(found) = joined.or_else(|| name(word)) else {
                    return Err(fault.token(token, format!("is not known; {KINDS}")));
                };
                if kind.is_some() {
                    return Err(fault.token(token, "is a second layer; put a comma before it"));
                }
                kind = Some((found, token));
            }
            Kind::Separator | Kind::Other => return Err(fault.token(token, format!("is not known; {KINDS}"))),
        }
    }
    let Some((name, word)) = kind else {
        let (column, text) = item.first().map_or((1, ""), |token| (token.column, token.text.as_str()));
        return Err(fault.at(column, text, format!("has no layer with it; {KINDS}")));
    };
    if let Some((_, token)) = sharing.filter(|_| name != Name::Conv) {
        return Err(fault.token(token, "belongs only to `conv`"));
    }
    let shared = sharing.is_some_and(|(shared, _)| shared);
    let layer = match (name, numbers.as_slice()) {
        (Name::Conv, &[maps, kernel]) => Layer::Conv { maps, kernel, shared },
        (Name::Conv, &[maps, height, width]) if height == width => Layer::Conv { maps, kernel: height, shared },
        (Name::Dense, &[outputs]) => Layer::Dense { outputs },
        (Name::Pool, &[size]) => Layer::MaxPool { size },
        (Name::Pool, &[height, width]) if height == width => Layer::MaxPool { size: height },
        (Name::Relu, []) => Layer::Relu,
        (Name::BatchNorm, []) => Layer::BatchNorm,
        (Name::Softmax, []) => return Ok(None),
        (Name::Conv, _) => {
            return Err(fault.token(word, "needs the number of maps and the size of a square kernel, as in `conv 4x5`"));
        }
        (Name::Dense, _) => return Err(fault.token(word, "needs one number, its outputs, as in `dense 10`")),
        (Name::Pool, _) => return Err(fault.token(word, "needs one number, the side of its squares, as in `pool 2`")),
        (Name::Relu | Name::BatchNorm | Name::Softmax, _) => return Err(fault.token(word, "takes no number")),
    };
    Ok(Some(layer))
}

fn number(token: &Token, fault: Fault) -> Result<usize, NetworkError> {
    match token.text.parse() {
        Ok(number) if (1..=MAX_VALUES).contains(&number) => Ok(number),
        _ => Err(fault.token(token, format!("must be a whole number from 1 to {MAX_VALUES}"))),
    }
}
