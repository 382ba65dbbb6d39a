//! A kernel that answers every cell with one message, because it cannot run cells.

use std::sync::mpsc::Receiver;
use std::thread;

use serde_json::json;

use crate::message::Message;
use crate::sockets::Post;

pub fn start(post: Post, inbox: Receiver<Message>, message: String) {
    thread::spawn(move || {
        for request in inbox {
            post.status(Some(&request), "busy");
            let mut content =
                json!({"ename": "topicbook", "evalue": message, "traceback": [message]});
            if request.kind() == "execute_request" {
                post.publish(Some(&request), "error", content.clone());
            }
            content["status"] = "error".into();
            post.reply(&request, content);
            post.status(Some(&request), "idle");
        }
    });
}
