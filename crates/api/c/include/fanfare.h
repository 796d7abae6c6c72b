/* libfanfare: files, streams and messages to many machines, and a receipt from each.
 * Made from the Rust sources by cbindgen: `cargo xtask headers --update`. */

#ifndef FANFARE_H
#define FANFARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a function came to. Below zero nothing was done; `fanfare_error` says why in words.
typedef enum fanfare_result {
  // It was done.
  FANFARE_OK = 0,
  // Nothing came in time. Call it again.
  FANFARE_TIMEOUT = 1,
  // It has ended: nothing more will come, or be taken.
  FANFARE_ENDED = 2,
  // Bytes of a stream are lost. Reading goes on behind them.
  FANFARE_GAP = 3,
  // A handle, an argument or an option is wrong.
  FANFARE_INVALID = -1,
  // This machine or its network refuses, or the other side did something wrong.
  FANFARE_FAILED = -2,
  // A fault of this library. The call had no effect.
  FANFARE_FAULT = -3,
} fanfare_result;

// What a receiver came to.
typedef enum fanfare_outcome {
  // It has everything, and says so.
  FANFARE_COMPLETE = 1,
  // It has acknowledged everything, but is none of ours and cannot say what it has.
  FANFARE_UNVERIFIED = 2,
  // It lacks something.
  FANFARE_PARTIAL = 3,
  // It has something else than was sent.
  FANFARE_DIFFERS = 4,
  // It was silent.
  FANFARE_SILENT = 5,
  // It has left before the end.
  FANFARE_LEFT = 6,
  // The sender was stopped, or gave it up.
  FANFARE_GIVEN_UP = 7,
} fanfare_outcome;

// What has happened.
typedef enum fanfare_event_kind {
  // A receiver has answered: name, node.
  FANFARE_EVENT_RECEIVER = 1,
  // Receivers are waited for: count of total are there; text names those that are missing.
  FANFARE_EVENT_WAITING = 2,
  // Sending begins, to count receivers.
  FANFARE_EVENT_STARTED = 3,
  // So many bytes of total are through.
  FANFARE_EVENT_PROGRESS = 4,
  // The file name has been sent once: bytes.
  FANFARE_EVENT_SENT = 5,
  // The receiver name has the file text, whole, verified and on its disk: bytes, hash, seconds.
  FANFARE_EVENT_RECEIPT = 6,
  // The file name did not arrive; text says why.
  FANFARE_EVENT_FAILED = 7,
  // A sender was heard: node, and its address as text.
  FANFARE_EVENT_SENDER = 8,
  // The file name is in its place: bytes, hash, seconds.
  FANFARE_EVENT_FILE = 9,
  // A sender is gone: node.
  FANFARE_EVENT_SENDER_GONE = 10,
  // The receivers that text names keep all others waiting.
  FANFARE_EVENT_STALLED = 11,
  // It goes on.
  FANFARE_EVENT_RESUMED = 12,
  // A receiver has left: name, node.
  FANFARE_EVENT_LEFT = 13,
  // A receiver was silent for too long: name, node.
  FANFARE_EVENT_GIVEN_UP = 14,
  // This machine or its network has a difficulty; text says which.
  FANFARE_EVENT_TROUBLE = 15,
} fanfare_event_kind;

// What comes to a member of a group.
typedef enum fanfare_arrival {
  // A message.
  FANFARE_MESSAGE = 1,
  // number messages are lost for this program.
  FANFARE_LOST = 2,
  // Another member was heard: node.
  FANFARE_JOINED = 3,
  // It is not heard any more: node.
  FANFARE_GONE = 4,
} fanfare_arrival;

// How a member stands to an own message.
typedef enum fanfare_standing {
  // It was sent once; node is 0.
  FANFARE_SENT = 1,
  // The member has all of it.
  FANFARE_HOLDS = 2,
  // The member does not have all of it, and asks for it.
  FANFARE_LACKS = 3,
  // The member does not want it.
  FANFARE_UNWANTED = 4,
  // It can no longer be repaired; node is 0. Nothing more is told of it.
  FANFARE_OVER = 5,
} fanfare_standing;

// Options by name. 0: all at their defaults.
typedef uint64_t fanfare_options;

// A receiver, and what it came to.
typedef struct fanfare_receiver {
  // What it is called.
  const char *name;
  // Its id.
  uint32_t node;
  // What it came to.
  enum fanfare_outcome outcome;
} fanfare_receiver;

// What it came to. What it points at stays until the handle is closed.
typedef struct fanfare_report {
  // Everything is where it was to be: at each expected receiver, or here.
  bool complete;
  // Bytes of files, or of the stream.
  uint64_t bytes;
  // Files.
  uint64_t files;
  // Bytes of the stream that this receiver lacks.
  uint64_t lost;
  // Receivers, at a sender.
  const struct fanfare_receiver *receivers;
  // How many.
  size_t receiver_count;
  // Receivers that have everything.
  size_t whole;
  // Who was expected and did not come, with commas between.
  const char *missing;
} fanfare_report;

// Files that are sent or received.
typedef uint64_t fanfare_files;

// Something that has happened. What it points at stays until the next call with the same handle.
typedef struct fanfare_event {
  // What has happened, and so which values count.
  enum fanfare_event_kind kind;
  // Of a node.
  uint32_t node;
  // Of a receiver or a file.
  const char *name;
  // More in words.
  const char *text;
  // How many.
  uint64_t count;
  // How many bytes.
  uint64_t bytes;
  // Of how many.
  uint64_t total;
  // Since the beginning.
  double seconds;
  // Of a file: BLAKE3.
  uint8_t hash[32];
} fanfare_event;

// A member of a group.
typedef uint64_t fanfare_group;

// Many messages on one topic.
typedef uint64_t fanfare_publisher;

// A message of a group. What it points at stays until the next call with the same handle.
typedef struct fanfare_message {
  // What has come, and so which values count.
  enum fanfare_arrival kind;
  // Who has published it.
  uint32_t node;
  // Its topic.
  const char *topic;
  // Its bytes.
  const void *data;
  // How many.
  size_t length;
  // The publisher's count of its messages on that topic, from 0.
  uint64_t number;
  // For which subscription.
  uint32_t subscription;
  // How long ago it was first heard of, in seconds.
  double age;
} fanfare_message;

// Something new of an own message that was published with the option receipts.
typedef struct fanfare_receipt {
  // What fanfare_publish gave.
  uint32_t message;
  // Which member.
  uint32_t node;
  // How it stands.
  enum fanfare_standing standing;
} fanfare_receipt;

// The end of a stream at which bytes come out.
typedef uint64_t fanfare_in;

// A message of a stream. What it points at stays until the next call with the same handle.
typedef struct fanfare_stream_message {
  // Its bytes.
  const void *data;
  // How many.
  size_t length;
  // Position of its frame in the stream.
  uint64_t offset;
  // Something before it is lost, or was sent before this receiver came.
  bool gap_before;
} fanfare_stream_message;

// The end of a stream at which bytes go in.
typedef uint64_t fanfare_out;

// How it stands with a stream.
typedef struct fanfare_status {
  // Bytes written.
  uint64_t written;
  // Bytes that all receivers that count are known to have.
  uint64_t acknowledged;
  // Receivers that count.
  uint64_t receivers;
  // Since when it has been waiting for receivers to read, in seconds; 0 when it is not.
  double stalled;
  // What is sent at present, in bits a second.
  uint64_t rate;
  // Bytes that are taken without waiting.
  uint64_t vacancy;
  // Nothing is taken any more.
  bool ended;
} fanfare_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of this library, such as "0.1.0".
const char *fanfare_version(void);

// Why the last call of this thread that did not give FANFARE_OK did not: a sentence for people.
// It stays until the next such call of this thread.
const char *fanfare_error(void);

// Makes options, all at their defaults. Close them with fanfare_close.
//
// # Safety
// `options` is null, or can be written.
enum fanfare_result fanfare_options_new(fanfare_options *options);

// Sets an option by its name, such as "rate" to "100M". The page on C lists them.
//
// # Safety
// `name` and `value` are null, or end with a zero byte.
enum fanfare_result fanfare_options_set(fanfare_options options,
                                        const char *name,
                                        const char *value);

// Asks a transfer, a stream or a member to end. Any thread may do so; who waits in it, comes back.
enum fanfare_result fanfare_stop(uint64_t handle);

// Waits until all is done, and says what it came to. A stream that is sent is closed first; one that is
// received tells the sender that it was kept, if it was read to its end. A member leaves its group.
// The handle is still to be closed.
//
// # Safety
// `report` is null, or can be written.
enum fanfare_result fanfare_finish(uint64_t handle,
                                   struct fanfare_report *report);

// Closes a handle of any kind. What runs is stopped where it is; what it has lent is gone.
enum fanfare_result fanfare_close(uint64_t handle);

// Sends files and folders to a group such as "239.255.42.1:6003". It begins at once, in a thread of
// its own.
//
// # Safety
// `group` ends with a zero byte; `list` has `count` pointers, each to a path that ends so; `files`
// can be written. Null is refused.
enum fanfare_result fanfare_send_files(const char *group,
                                       const char *const *list,
                                       size_t count,
                                       fanfare_options options,
                                       fanfare_files *files);

// Receives files from a group into a folder. It goes on until it is stopped, or as the option
// "until" says.
//
// # Safety
// `group` and `directory` end with a zero byte; `files` can be written. Null is refused.
enum fanfare_result fanfare_receive_files(const char *group,
                                          const char *directory,
                                          fanfare_options options,
                                          fanfare_files *files);

// What has happened next; waits so many milliseconds for it, below zero without end.
// FANFARE_TIMEOUT: nothing has. FANFARE_ENDED: nothing will.
//
// # Safety
// `event` can be written. Null is refused.
enum fanfare_result fanfare_files_next(fanfare_files files,
                                       int64_t timeout_ms,
                                       struct fanfare_event *event);

// Takes part in a group.
//
// # Safety
// `address` ends with a zero byte; `group` can be written. Null is refused.
enum fanfare_result fanfare_join(const char *address,
                                 fanfare_options options,
                                 fanfare_group *group);

// The id of this member; 0 for what is no member.
uint32_t fanfare_node(fanfare_group group);

// Asks for the messages on some topics, such as "weather/#". Puts the subscription's number into
// `subscription`, unless that is null.
//
// # Safety
// `topics` ends with a zero byte; `subscription` is null, or can be written.
enum fanfare_result fanfare_subscribe(fanfare_group group,
                                      const char *topics,
                                      fanfare_options options,
                                      uint32_t *subscription);

// Ends a subscription.
enum fanfare_result fanfare_unsubscribe(fanfare_group group, uint32_t subscription);

// Publishes a message; waits while too many are on their way. Puts its number into `message`, unless
// that is null.
//
// # Safety
// `topic` ends with a zero byte; `data` is null for no bytes, or has `length` of them; `message` is
// null, or can be written.
enum fanfare_result fanfare_publish(fanfare_group group,
                                    const char *topic,
                                    const void *data,
                                    size_t length,
                                    fanfare_options options,
                                    uint32_t *message);

// For many messages on one topic: those sent close together travel together.
//
// # Safety
// `topic` ends with a zero byte; `publisher` can be written. Null is refused.
enum fanfare_result fanfare_publisher_open(fanfare_group group,
                                           const char *topic,
                                           fanfare_options options,
                                           fanfare_publisher *publisher);

// Publishes one of many messages.
//
// # Safety
// `data` is null for no bytes, or has `length` of them.
enum fanfare_result fanfare_publisher_send(fanfare_publisher publisher,
                                           const void *data,
                                           size_t length);

// Waits until all of them are on their way.
enum fanfare_result fanfare_publisher_flush(fanfare_publisher publisher);

// Withdraws own messages with this tag, as far as they still wait or can be repaired. Puts their number
// into `count`, unless that is null.
//
// # Safety
// `count` is null, or can be written.
enum fanfare_result fanfare_cancel(fanfare_group group,
                                   uint64_t tag,
                                   uint64_t *count);

// What comes next; waits so many milliseconds for it, below zero without end.
//
// # Safety
// `message` can be written. Null is refused.
enum fanfare_result fanfare_group_next(fanfare_group group,
                                       int64_t timeout_ms,
                                       struct fanfare_message *message);

// What is new of own messages that were published with the option "receipts". Puts the place of the first
// receipt into `receipts`, and their number into `count`; they stay until the next call with the same
// handle. It does not wait: members are asked, and what they say is there a little later.
//
// # Safety
// `receipts` and `count` can be written. Null is refused.
enum fanfare_result fanfare_receipts(fanfare_group group,
                                     const struct fanfare_receipt **receipts,
                                     size_t *count);

// Listens for a stream: the first that is heard in the group.
//
// # Safety
// `group` ends with a zero byte; `stream` can be written. Null is refused.
enum fanfare_result fanfare_in_open(const char *group,
                                    fanfare_options options,
                                    fanfare_in *stream);

// Reads bytes, as many as there are at once, at most `length`; waits so many milliseconds for the
// first of them, below zero without end. FANFARE_ENDED: the stream has ended. FANFARE_GAP: bytes are
// lost; the next call reads what is behind them.
//
// # Safety
// `into` has room for `length` bytes; `count` can be written. Null is refused.
enum fanfare_result fanfare_in_read(fanfare_in stream,
                                    void *into,
                                    size_t length,
                                    int64_t timeout_ms,
                                    size_t *count);

// The next message. FANFARE_ENDED: the stream has ended.
//
// # Safety
// `message` can be written. Null is refused.
enum fanfare_result fanfare_in_message(fanfare_in stream,
                                       int64_t timeout_ms,
                                       struct fanfare_stream_message *message);

// Position of the next byte; after a late start it does not begin at 0.
//
// # Safety
// `offset` can be written. Null is refused.
enum fanfare_result fanfare_in_offset(fanfare_in stream, uint64_t *offset);

// What has happened next, as fanfare_files_next has it.
//
// # Safety
// `event` can be written. Null is refused.
enum fanfare_result fanfare_in_next(fanfare_in stream,
                                    int64_t timeout_ms,
                                    struct fanfare_event *event);

// Opens a stream to a group.
//
// # Safety
// `group` ends with a zero byte; `stream` can be written. Null is refused.
enum fanfare_result fanfare_out_open(const char *group,
                                     fanfare_options options,
                                     fanfare_out *stream);

// Writes all of it; waits for room.
//
// # Safety
// `data` is null for no bytes, or has `length` of them.
enum fanfare_result fanfare_out_write(fanfare_out stream, const void *data, size_t length);

// Writes as much as there is room for, and puts how much that was into `taken`. It does not wait.
//
// # Safety
// `data` is null for no bytes, or has `length` of them; `taken` can be written. Null is refused.
enum fanfare_result fanfare_out_try_write(fanfare_out stream,
                                          const void *data,
                                          size_t length,
                                          size_t *taken);

// Writes a message; waits for room. The stream needs the option "framing". The message is of use for
// so many milliseconds: if it has not gone by then, it is left out, whole. Below zero: as the
// stream's own lifetime says.
//
// # Safety
// `data` is null for no bytes, or has `length` of them.
enum fanfare_result fanfare_out_message(fanfare_out stream,
                                        const void *data,
                                        size_t length,
                                        int64_t lifetime_ms);

// Says that the next byte begins a message, in a stream without framing.
enum fanfare_result fanfare_out_mark(fanfare_out stream);

// Sends what was written, though it does not fill a packet. `active`: receivers are told at once that
// nothing follows, and ask for what they lack.
enum fanfare_result fanfare_out_flush(fanfare_out stream,
                                      bool active);

// How it stands.
//
// # Safety
// `status` can be written. Null is refused.
enum fanfare_result fanfare_out_status(fanfare_out stream, struct fanfare_status *status);

// What has happened next, as fanfare_files_next has it.
//
// # Safety
// `event` can be written. Null is refused.
enum fanfare_result fanfare_out_next(fanfare_out stream,
                                     int64_t timeout_ms,
                                     struct fanfare_event *event);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FANFARE_H */
