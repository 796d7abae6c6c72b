/* normApi.h of Fanfare: the interface of libnorm.so.1, for C and for C++.
 *
 * Programs that were compiled with the header of NRL's NORM need not be compiled again. This one is
 * for new programs, and for C, which that one does not compile as. What each function does here is in
 * docs/reference/libnorm.md.
 */
#ifndef FANFARE_NORM_API_H
#define FANFARE_NORM_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The version of the interface, as NormGetVersion tells it. */
#define NORM_VERSION_MAJOR 1
#define NORM_VERSION_MINOR 5
#define NORM_VERSION_PATCH 7

/* An argument that C++ programs may leave out. */
#ifdef __cplusplus
#define NORM_OR(value) = value
extern "C" {
#else
#define NORM_OR(value)
#endif

/* ---- Types ------------------------------------------------------------------------------------ */

/* Handles are words, not addresses. Nothing is at the place that they name. */
typedef const void *NormInstanceHandle;
typedef const void *NormSessionHandle;
typedef const void *NormNodeHandle;
typedef const void *NormObjectHandle;

typedef uint32_t NormNodeId;
typedef uint16_t NormSessionId;
typedef uint16_t NormObjectTransportId;
typedef off_t NormSize;
typedef int NormDescriptor;

extern const NormInstanceHandle NORM_INSTANCE_INVALID;
extern const NormSessionHandle NORM_SESSION_INVALID;
extern const NormNodeHandle NORM_NODE_INVALID;
extern const NormObjectHandle NORM_OBJECT_INVALID;
extern const NormNodeId NORM_NODE_NONE;
extern const NormNodeId NORM_NODE_ANY;
extern const NormDescriptor NORM_DESCRIPTOR_INVALID;

typedef enum NormObjectType {
    NORM_OBJECT_NONE = 0,
    NORM_OBJECT_DATA = 1,
    NORM_OBJECT_FILE = 2,
    NORM_OBJECT_STREAM = 3
} NormObjectType;

typedef enum NormFlushMode {
    NORM_FLUSH_NONE = 0,
    NORM_FLUSH_PASSIVE = 1,
    NORM_FLUSH_ACTIVE = 2
} NormFlushMode;

typedef enum NormNackingMode {
    NORM_NACK_NONE = 0,
    NORM_NACK_INFO_ONLY = 1,
    NORM_NACK_NORMAL = 2
} NormNackingMode;

typedef enum NormAckingStatus {
    NORM_ACK_INVALID = 0,
    NORM_ACK_FAILURE = 1,
    NORM_ACK_PENDING = 2,
    NORM_ACK_SUCCESS = 3
} NormAckingStatus;

typedef enum NormTrackingStatus {
    NORM_TRACK_NONE = 0,
    NORM_TRACK_RECEIVERS = 1,
    NORM_TRACK_SENDERS = 2,
    NORM_TRACK_ALL = 3
} NormTrackingStatus;

typedef enum NormProbingMode {
    NORM_PROBE_NONE = 0,
    NORM_PROBE_PASSIVE = 1,
    NORM_PROBE_ACTIVE = 2
} NormProbingMode;

typedef enum NormSyncPolicy {
    NORM_SYNC_CURRENT = 0,
    NORM_SYNC_STREAM = 1,
    NORM_SYNC_ALL = 2
} NormSyncPolicy;

typedef enum NormRepairBoundary {
    NORM_BOUNDARY_BLOCK = 0,
    NORM_BOUNDARY_OBJECT = 1
} NormRepairBoundary;

typedef enum NormEventType {
    NORM_EVENT_INVALID = 0,
    NORM_TX_QUEUE_VACANCY = 1,
    NORM_TX_QUEUE_EMPTY = 2,
    NORM_TX_FLUSH_COMPLETED = 3,
    NORM_TX_WATERMARK_COMPLETED = 4,
    NORM_TX_CMD_SENT = 5,
    NORM_TX_OBJECT_SENT = 6,
    NORM_TX_OBJECT_PURGED = 7,
    NORM_TX_RATE_CHANGED = 8,
    NORM_LOCAL_SENDER_CLOSED = 9,
    NORM_REMOTE_SENDER_NEW = 10,
    NORM_REMOTE_SENDER_RESET = 11,
    NORM_REMOTE_SENDER_ADDRESS = 12,
    NORM_REMOTE_SENDER_ACTIVE = 13,
    NORM_REMOTE_SENDER_INACTIVE = 14,
    NORM_REMOTE_SENDER_PURGED = 15,
    NORM_RX_CMD_NEW = 16,
    NORM_RX_OBJECT_NEW = 17,
    NORM_RX_OBJECT_INFO = 18,
    NORM_RX_OBJECT_UPDATED = 19,
    NORM_RX_OBJECT_COMPLETED = 20,
    NORM_RX_OBJECT_ABORTED = 21,
    NORM_RX_ACK_REQUEST = 22,
    NORM_GRTT_UPDATED = 23,
    NORM_CC_ACTIVE = 24,
    NORM_CC_INACTIVE = 25,
    NORM_ACKING_NODE_NEW = 26,
    NORM_SEND_ERROR = 27,
    NORM_USER_TIMEOUT = 28
} NormEventType;

typedef struct {
    NormEventType type;
    NormSessionHandle session;
    NormNodeHandle sender;
    NormObjectHandle object;
} NormEvent;

typedef char *(*NormAllocFunctionHandle)(size_t bytes);
typedef void (*NormFreeFunctionHandle)(char *data);

/* ---- Instances and events --------------------------------------------------------------------- */

int NormGetVersion(int *major NORM_OR(0), int *minor NORM_OR(0), int *patch NORM_OR(0));
NormInstanceHandle NormCreateInstance(bool priorityBoost NORM_OR(false));
void NormDestroyInstance(NormInstanceHandle instance);
void NormStopInstance(NormInstanceHandle instance);
bool NormRestartInstance(NormInstanceHandle instance);
bool NormSuspendInstance(NormInstanceHandle instance);
void NormResumeInstance(NormInstanceHandle instance);
bool NormGetNextEvent(NormInstanceHandle instance, NormEvent *event, bool wait NORM_OR(true));
void NormReleasePreviousEvent(NormInstanceHandle instance);
NormDescriptor NormGetDescriptor(NormInstanceHandle instance);
bool NormSetCacheDirectory(NormInstanceHandle instance, const char *folder);
void NormSetAllocationFunctions(NormInstanceHandle instance, NormAllocFunctionHandle alloc,
                                NormFreeFunctionHandle release);
char *NormAlloc(size_t bytes);
void NormFree(char *data);
bool NormOpenDebugLog(NormInstanceHandle instance, const char *path);
void NormCloseDebugLog(NormInstanceHandle instance);
bool NormOpenDebugPipe(NormInstanceHandle instance, const char *name);
void NormCloseDebugPipe(NormInstanceHandle instance);
void NormSetDebugLevel(unsigned int level);
#ifdef __cplusplus
unsigned int NormGetDebugLevel();
NormSessionId NormGetRandomSessionId();
#else
unsigned int NormGetDebugLevel(void);
NormSessionId NormGetRandomSessionId(void);
#endif

/* ---- Sessions --------------------------------------------------------------------------------- */

NormSessionHandle NormCreateSession(NormInstanceHandle instance, const char *address,
                                    uint16_t port, NormNodeId id);
void NormDestroySession(NormSessionHandle session);
NormInstanceHandle NormGetInstance(NormSessionHandle session);
bool NormIsUnicastAddress(const char *address);
void NormSetUserData(NormSessionHandle session, const void *data);
const void *NormGetUserData(NormSessionHandle session);
void NormSetUserTimer(NormSessionHandle session, double seconds);
void NormCancelUserTimer(NormSessionHandle session);
NormNodeId NormGetLocalNodeId(NormSessionHandle session);
void NormSetId(NormSessionHandle session, NormNodeId id);
bool NormGetAddress(NormSessionHandle session, char *address, unsigned int *length,
                    uint16_t *port NORM_OR(0));
uint16_t NormGetRxPort(NormSessionHandle session);
uint16_t NormGetTxPort(NormSessionHandle session);
#ifdef __cplusplus
bool NormGetRxBindAddress(NormSessionHandle session, char *address, unsigned int &length,
                          uint16_t &port);
#else
bool NormGetRxBindAddress(NormSessionHandle session, char *address, unsigned int *length,
                          uint16_t *port);
#endif

/* ---- Sockets of a session --------------------------------------------------------------------- */

bool NormSetTxPort(NormSessionHandle session, uint16_t port, bool reuse NORM_OR(false),
                   const char *address NORM_OR(0));
void NormSetTxOnly(NormSessionHandle session, bool only, bool connect NORM_OR(false));
bool NormChangeDestination(NormSessionHandle session, const char *address, uint16_t port,
                           bool connect NORM_OR(false));
void NormSetRxPortReuse(NormSessionHandle session, bool reuse, const char *address NORM_OR(0),
                        const char *sender NORM_OR(0), uint16_t senderPort NORM_OR(0));
bool NormSetMulticastInterface(NormSessionHandle session, const char *name);
bool NormSetSSM(NormSessionHandle session, const char *source);
bool NormSetTTL(NormSessionHandle session, unsigned char ttl);
bool NormSetTOS(NormSessionHandle session, unsigned char tos);
bool NormSetLoopback(NormSessionHandle session, bool loopback);
bool NormSetMulticastLoopback(NormSessionHandle session, bool loopback);
bool NormSetFragmentation(NormSessionHandle session, bool fragmentation);
bool NormSetTxSocketBuffer(NormSessionHandle session, unsigned int bytes);
bool NormSetRxSocketBuffer(NormSessionHandle session, unsigned int bytes);
void NormSetMessageTrace(NormSessionHandle session, bool trace);
void NormSetTxLoss(NormSessionHandle session, double percent);
void NormSetRxLoss(NormSessionHandle session, double percent);
void NormSetReportInterval(NormSessionHandle session, double seconds);
double NormGetReportInterval(NormSessionHandle session);

/* ---- Sending ---------------------------------------------------------------------------------- */

bool NormStartSender(NormSessionHandle session, NormSessionId instance, uint32_t bufferSpace,
                     uint16_t segmentSize, uint16_t numData, uint16_t numParity,
                     uint8_t fecId NORM_OR(0));
void NormStopSender(NormSessionHandle session);
void NormSetTxRate(NormSessionHandle session, double bitsPerSecond);
double NormGetTxRate(NormSessionHandle session);
void NormSetTxRateBounds(NormSessionHandle session, double min, double max);
void NormSetCongestionControl(NormSessionHandle session, bool enable, bool adjust NORM_OR(true));
void NormSetEcnSupport(NormSessionHandle session, bool ecn, bool ignoreLoss NORM_OR(false),
                       bool tolerateLoss NORM_OR(false));
void NormSetFlowControl(NormSessionHandle session, double factor);
void NormSetTxCacheBounds(NormSessionHandle session, NormSize bytes, uint32_t countMin,
                          uint32_t countMax);
void NormSetAutoParity(NormSessionHandle session, unsigned char symbols);
void NormSetGrttEstimate(NormSessionHandle session, double seconds);
double NormGetGrttEstimate(NormSessionHandle session);
void NormSetGrttMax(NormSessionHandle session, double seconds);
void NormSetGrttProbingMode(NormSessionHandle session, NormProbingMode mode);
void NormSetGrttProbingInterval(NormSessionHandle session, double min, double max);
void NormSetGrttProbingTOS(NormSessionHandle session, uint8_t tos);
void NormSetBackoffFactor(NormSessionHandle session, double factor);
void NormSetGroupSize(NormSessionHandle session, unsigned int receivers);
void NormSetTxRobustFactor(NormSessionHandle session, int factor);
void NormLimitObjectInfo(NormSessionHandle session, bool limit);
bool NormPresetObjectInfo(NormSessionHandle session, unsigned long size, uint16_t segmentSize,
                          uint16_t numData, uint16_t numParity);
NormObjectHandle NormFileEnqueue(NormSessionHandle session, const char *path,
                                 const char *info NORM_OR(0), unsigned int infoLength NORM_OR(0));
NormObjectHandle NormDataEnqueue(NormSessionHandle session, const char *data, uint32_t length,
                                 const char *info NORM_OR(0), unsigned int infoLength NORM_OR(0));
bool NormRequeueObject(NormSessionHandle session, NormObjectHandle object);
bool NormSendCommand(NormSessionHandle session, const char *command, unsigned int length,
                     bool robust NORM_OR(false));
void NormCancelCommand(NormSessionHandle session);

/* ---- Streams to send -------------------------------------------------------------------------- */

NormObjectHandle NormStreamOpen(NormSessionHandle session, uint32_t bufferSize,
                                const char *info NORM_OR(0), unsigned int infoLength NORM_OR(0));
void NormStreamClose(NormObjectHandle stream, bool graceful NORM_OR(false));
unsigned int NormGetStreamBufferSegmentCount(unsigned int bytes, uint16_t segmentSize,
                                             uint16_t blockSize);
unsigned int NormStreamWrite(NormObjectHandle stream, const char *data, unsigned int length);
void NormStreamFlush(NormObjectHandle stream, bool endOfMessage NORM_OR(false),
                     NormFlushMode mode NORM_OR(NORM_FLUSH_PASSIVE));
void NormStreamSetAutoFlush(NormObjectHandle stream, NormFlushMode mode);
void NormStreamSetPushEnable(NormObjectHandle stream, bool push);
bool NormStreamHasVacancy(NormObjectHandle stream);
unsigned int NormStreamGetVacancy(NormObjectHandle stream, unsigned int wanted NORM_OR(0));
void NormStreamMarkEom(NormObjectHandle stream);

/* ---- Acknowledgements ------------------------------------------------------------------------- */

bool NormSetWatermark(NormSessionHandle session, NormObjectHandle object,
                      bool overrideFlush NORM_OR(false));
bool NormSetWatermarkEx(NormSessionHandle session, NormObjectHandle object, const char *question,
                        unsigned int length, bool overrideFlush NORM_OR(false));
bool NormResetWatermark(NormSessionHandle session);
void NormCancelWatermark(NormSessionHandle session);
bool NormAddAckingNode(NormSessionHandle session, NormNodeId node);
void NormRemoveAckingNode(NormSessionHandle session, NormNodeId node);
NormNodeHandle NormGetAckingNodeHandle(NormSessionHandle session, NormNodeId node);
void NormSetAutoAckingNodes(NormSessionHandle session, NormTrackingStatus tracking);
NormAckingStatus NormGetAckingStatus(NormSessionHandle session,
                                     NormNodeId node NORM_OR(NORM_NODE_ANY));
bool NormGetNextAckingNode(NormSessionHandle session, NormNodeId *node,
                           NormAckingStatus *status NORM_OR(0));
bool NormGetAckEx(NormSessionHandle session, NormNodeId node, char *answer, unsigned int *length);

/* ---- Receiving -------------------------------------------------------------------------------- */

bool NormStartReceiver(NormSessionHandle session, uint32_t bufferSpace);
void NormStopReceiver(NormSessionHandle session);
void NormSetRxCacheLimit(NormSessionHandle session, unsigned short count);
void NormSetSilentReceiver(NormSessionHandle session, bool silent, int maxDelay NORM_OR(-1));
void NormSetDefaultUnicastNack(NormSessionHandle session, bool unicast);
void NormNodeSetUnicastNack(NormNodeHandle sender, bool unicast);
void NormSetDefaultSyncPolicy(NormSessionHandle session, NormSyncPolicy policy);
void NormSetDefaultNackingMode(NormSessionHandle session, NormNackingMode mode);
void NormNodeSetNackingMode(NormNodeHandle sender, NormNackingMode mode);
void NormObjectSetNackingMode(NormObjectHandle object, NormNackingMode mode);
void NormSetDefaultRepairBoundary(NormSessionHandle session, NormRepairBoundary boundary);
void NormNodeSetRepairBoundary(NormNodeHandle sender, NormRepairBoundary boundary);
void NormSetDefaultRxRobustFactor(NormSessionHandle session, int factor);
void NormNodeSetRxRobustFactor(NormNodeHandle sender, int factor);
bool NormPreallocateRemoteSender(NormSessionHandle session, unsigned long bufferSize,
                                 uint16_t segmentSize, uint16_t numData, uint16_t numParity,
                                 unsigned int streamBufferSize NORM_OR(0));
uint32_t NormCountCompletedObjects(NormSessionHandle session);
void NormSetServerListener(NormSessionHandle session, bool state);
bool NormTransferSender(NormSessionHandle session, NormNodeHandle sender);
void NormSetSynStatus(NormSessionHandle session, bool state);

/* ---- Streams to read -------------------------------------------------------------------------- */

bool NormStreamRead(NormObjectHandle stream, char *data, unsigned int *length);
bool NormStreamSeekMsgStart(NormObjectHandle stream);
uint32_t NormStreamGetReadOffset(NormObjectHandle stream);
uint32_t NormStreamGetBufferUsage(NormObjectHandle stream);

/* ---- Objects ---------------------------------------------------------------------------------- */

NormObjectType NormObjectGetType(NormObjectHandle object);
bool NormObjectHasInfo(NormObjectHandle object);
uint16_t NormObjectGetInfoLength(NormObjectHandle object);
uint16_t NormObjectGetInfo(NormObjectHandle object, char *info, uint16_t length);
NormSize NormObjectGetSize(NormObjectHandle object);
NormSize NormObjectGetBytesPending(NormObjectHandle object);
void NormObjectCancel(NormObjectHandle object);
void NormObjectRetain(NormObjectHandle object);
void NormObjectRelease(NormObjectHandle object);
void NormObjectSetUserData(NormObjectHandle object, const void *data);
const void *NormObjectGetUserData(NormObjectHandle object);
NormNodeHandle NormObjectGetSender(NormObjectHandle object);
bool NormFileGetName(NormObjectHandle file, char *name, unsigned int length);
bool NormFileRename(NormObjectHandle file, const char *name);
const char *NormDataAccessData(NormObjectHandle object);
char *NormDataDetachData(NormObjectHandle object);

/* ---- Nodes ------------------------------------------------------------------------------------ */

NormNodeId NormNodeGetId(NormNodeHandle node);
bool NormNodeGetAddress(NormNodeHandle node, char *address, unsigned int *length,
                        uint16_t *port NORM_OR(0));
void NormNodeSetUserData(NormNodeHandle node, const void *data);
const void *NormNodeGetUserData(NormNodeHandle node);
double NormNodeGetGrtt(NormNodeHandle sender);
bool NormNodeGetCommand(NormNodeHandle sender, char *command, unsigned int *length);
bool NormNodeSendAckEx(NormNodeHandle sender, const char *answer, unsigned int length);
bool NormNodeGetWatermarkEx(NormNodeHandle sender, char *question, unsigned int *length);
void NormNodeFreeBuffers(NormNodeHandle sender);
void NormNodeDelete(NormNodeHandle sender);
void NormNodeRetain(NormNodeHandle node);
void NormNodeRelease(NormNodeHandle node);

#ifdef __cplusplus
}
#endif
#undef NORM_OR
#endif
