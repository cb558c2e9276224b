//! From characters to the words of a formula, each with its column.

use super::error::{FormulaError, FormulaFault};
use std::fmt;

/// Letters of a name, at most.
pub(super) const LONGEST_NAME: usize = 60;

/// A word of a formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    /// One of `+ - * / ^ ( ) [ ] , ; =`.
    Symbol(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "the number {}", cbo::numbers::plain(*value)),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Symbol(symbol) => write!(f, "`{symbol}`"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// A word and the column of its first character, from 1.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) column: usize,
}

/// All words, and the end.
pub(super) fn words(text: &str) -> Result<Vec<Word>, FormulaError> {
    let characters: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut place = 0;
    while let Some(&character) = characters.get(place) {
        let column = place + 1;
        let length = match character {
            _ if character.is_whitespace() => 1,
            '*' if characters.get(place + 1) == Some(&'*') => {
                return Err(FormulaError::at(column, FormulaFault::DoubleStar));
            }
            '+' | '-' | '*' | '/' | '^' | '(' | ')' | '[' | ']' | ',' | ';' | '=' => {
                words.push(Word { token: Token::Symbol(character), column });
                1
            }
            _ if character.is_ascii_digit() || character == '.' => {
                let length = number_length(&characters[place..]);
                let text: String = characters[place..place + length].iter().collect();
                let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
                let Some(value) = value else {
                    let text = if length > 40 { text[..40].to_string() + "..." } else { text };
                    return Err(FormulaError::at(column, FormulaFault::Number { text }));
                };
                words.push(Word { token: Token::Number(value), column });
                length
            }
            _ if character.is_ascii_alphabetic() || character == '_' => {
                let rest = &characters[place..];
                let length = rest.iter().position(|c| !c.is_ascii_alphanumeric() && *c != '_').unwrap_or(rest.len());
                if length > LONGEST_NAME {
                    return Err(FormulaError::at(column, FormulaFault::LongName));
                }
                words.push(Word { token: Token::Name(rest[..length].iter().collect()), column });
                length
            }
            _ => return Err(FormulaError::at(column, FormulaFault::Character { character })),
        };
        place += length;
    }
    words.push(Word { token: Token::End, column: characters.len() + 1 });
    Ok(words)
}

/// How many characters belong to the number that begins here. An `e` without digits behind it is the constant, not an exponent.
fn number_length(characters: &[char]) -> usize {
    let digits =
        |from: usize| characters[from.min(characters.len())..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut length = digits(0);
    if characters.get(length) == Some(&'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(characters.get(length), Some('e' | 'E')) {
        let sign = usize::from(matches!(characters.get(length + 1), Some('+' | '-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
