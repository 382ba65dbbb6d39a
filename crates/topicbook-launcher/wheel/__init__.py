"""The Jupyter kernel "Rust (topicbook)", and the command `topicbook`."""
