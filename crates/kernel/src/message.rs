//! Messages of Jupyter's protocol: <https://jupyter-client.readthedocs.io/en/stable/messaging.html>.

use std::sync::atomic::{AtomicU64, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use zeromq::ZmqMessage;

use crate::Failure;

const DELIMITER: &[u8] = b"<IDS|MSG>";

/// A message without the identities and signature of the transport.
#[derive(Clone)]
pub struct Message {
    /// The clients to which a reply goes; empty in a message for all.
    identities: Vec<Vec<u8>>,
    header: Value,
    parent: Value,
    metadata: Value,
    pub content: Value,
}

impl Message {
    pub fn kind(&self) -> &str {
        self.header["msg_type"].as_str().unwrap_or_default()
    }

    /// With this metadata, if it is an object.
    pub fn with_metadata(mut self, metadata: Value) -> Self {
        if metadata.is_object() {
            self.metadata = metadata;
        }
        self
    }

    pub fn set_kind(&mut self, kind: &str) {
        self.header["msg_type"] = kind.into();
    }

    /// A text of the content.
    pub fn text(&self, name: &str) -> &str {
        self.content[name].as_str().unwrap_or_default()
    }
}

/// Signs and checks messages, and numbers them.
pub struct Signer {
    key: Option<Hmac<Sha256>>,
    session: String,
    sent: AtomicU64,
}

impl Signer {
    /// With an empty key, messages are not signed.
    pub fn new(key: &str) -> Result<Self, Failure> {
        Ok(Self {
            key: match key {
                "" => None,
                key => Some(Hmac::new_from_slice(key.as_bytes())?),
            },
            session: uuid::Uuid::new_v4().simple().to_string(),
            sent: AtomicU64::new(0),
        })
    }

    /// A message that belongs to `parent`, for all clients.
    pub fn message(&self, parent: Option<&Message>, kind: &str, content: Value) -> Message {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        Message {
            identities: Vec::new(),
            header: json!({
                "msg_id": format!("{}_{number}", self.session),
                "session": self.session,
                "username": "kernel",
                "date": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
                "msg_type": kind,
                "version": "5.3",
            }),
            parent: parent.map_or_else(|| json!({}), |parent| parent.header.clone()),
            metadata: json!({}),
            content,
        }
    }

    /// The reply to a request, for the client that sent the request.
    pub fn reply(&self, request: &Message, content: Value) -> Message {
        let kind = request.kind().replace("_request", "_reply");
        let mut reply = self.message(Some(request), &kind, content);
        reply.identities.clone_from(&request.identities);
        reply
    }

    pub fn decode(&self, message: ZmqMessage) -> Result<Message, Failure> {
        let frames = message.into_vec();
        let delimiter = frames
            .iter()
            .position(|frame| frame[..] == *DELIMITER)
            .ok_or("a message without delimiter")?;
        let (identities, rest) = frames.split_at(delimiter);
        let [_, signature, parts @ ..] = rest else {
            return Err("a message without signature".into());
        };
        let [header, parent, metadata, content, ..] = parts else {
            return Err("a message without content".into());
        };
        if let Some(key) = &self.key {
            let mut key = key.clone();
            for part in parts {
                key.update(part);
            }
            key.verify_slice(&hex::decode(signature)?)?;
        }
        Ok(Message {
            identities: identities.iter().map(|frame| frame.to_vec()).collect(),
            header: serde_json::from_slice(header)?,
            parent: serde_json::from_slice(parent)?,
            metadata: serde_json::from_slice(metadata)?,
            content: serde_json::from_slice(content)?,
        })
    }

    pub fn encode(&self, message: &Message) -> ZmqMessage {
        let parts = [
            &message.header,
            &message.parent,
            &message.metadata,
            &message.content,
        ]
        .map(|part| part.to_string().into_bytes());
        let signature = self.key.clone().map_or_else(String::new, |mut key| {
            for part in &parts {
                key.update(part);
            }
            hex::encode(key.finalize().into_bytes())
        });
        let mut frames = message.identities.clone();
        frames.extend([DELIMITER.to_vec(), signature.into_bytes()]);
        frames.extend(parts);
        let mut frames = frames.into_iter();
        let mut encoded = ZmqMessage::from(frames.next().unwrap_or_default());
        for frame in frames {
            encoded.push_back(frame.into());
        }
        encoded
    }
}
