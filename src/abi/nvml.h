/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's binary interface that is used here, in our own words: names, numbers and
 * layouts are the vendor's, the text is not, and no vendor header is needed to build. Layouts are
 * those of x86-64 and are asserted below, so that a slip fails the build instead of corrupting a
 * caller. Sources: the public headers for API 11.8 (older half) and API 13 (newer half).
 */
#ifndef BH_ABI_NVML_H
#define BH_ABI_NVML_H

#include <stddef.h>

/* clang-format off */

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;

/* X(name without its prefix, number, what nvmlErrorString() says of it) */
#define BH_NVML_RETURNS(X)                                                                         \
	X(SUCCESS,                         0, "Success")                                           \
	X(ERROR_UNINITIALIZED,             1, "Uninitialized")                                     \
	X(ERROR_INVALID_ARGUMENT,          2, "Invalid Argument")                                  \
	X(ERROR_NOT_SUPPORTED,             3, "Not Supported")                                     \
	X(ERROR_NO_PERMISSION,             4, "Insufficient Permissions")                          \
	X(ERROR_ALREADY_INITIALIZED,       5, "Already Initialized")                               \
	X(ERROR_NOT_FOUND,                 6, "Not Found")                                         \
	X(ERROR_INSUFFICIENT_SIZE,         7, "Insufficient Size")                                 \
	X(ERROR_INSUFFICIENT_POWER,        8, "Insufficient External Power")                       \
	X(ERROR_DRIVER_NOT_LOADED,         9, "Driver Not Loaded")                                 \
	X(ERROR_TIMEOUT,                  10, "Timeout")                                           \
	X(ERROR_IRQ_ISSUE,                11, "Interrupt Request Issue")                           \
	X(ERROR_LIBRARY_NOT_FOUND,        12, "NVML Shared Library Not Found")                     \
	X(ERROR_FUNCTION_NOT_FOUND,       13, "Function Not Found")                                \
	X(ERROR_CORRUPTED_INFOROM,        14, "Corrupted infoROM")                                 \
	X(ERROR_GPU_IS_LOST,              15, "GPU is lost")                                       \
	X(ERROR_RESET_REQUIRED,           16, "GPU requires reset")                                \
	X(ERROR_OPERATING_SYSTEM,         17, "GPU access blocked by the operating system")        \
	X(ERROR_LIB_RM_VERSION_MISMATCH,  18, "Driver/library version mismatch")                   \
	X(ERROR_IN_USE,                   19, "In use by another client")                          \
	X(ERROR_MEMORY,                   20, "Insufficient Memory")                               \
	X(ERROR_NO_DATA,                  21, "No data")                                           \
	X(ERROR_VGPU_ECC_NOT_SUPPORTED,   22, "vGPU ECC not supported")                            \
	X(ERROR_INSUFFICIENT_RESOURCES,   23, "Insufficient Resources")                            \
	X(ERROR_FREQ_NOT_SUPPORTED,       24, "Requested frequency not supported")                 \
	X(ERROR_ARGUMENT_VERSION_MISMATCH, 25, "Argument version mismatch")                        \
	X(ERROR_DEPRECATED,               26, "Deprecated function")                               \
	X(ERROR_NOT_READY,                27, "Not ready")                                         \
	X(ERROR_GPU_NOT_FOUND,            28, "GPU not found")                                     \
	X(ERROR_INVALID_STATE,            29, "Invalid state")                                     \
	X(ERROR_RESET_TYPE_NOT_SUPPORTED, 30, "Reset type not supported")                          \
	X(ERROR_UNKNOWN,                 999, "Unknown Error")

typedef enum nvmlReturn_enum {
#define X(name, number, text) NVML_##name = (number),
	BH_NVML_RETURNS(X)
#undef X
} nvmlReturn_t;

#define NVML_INIT_FLAG_NO_GPUS   1
#define NVML_INIT_FLAG_NO_ATTACH 2

#define NVML_DEVICE_UUID_BUFFER_SIZE                   80
#define NVML_DEVICE_UUID_V2_BUFFER_SIZE                96
#define NVML_DEVICE_NAME_BUFFER_SIZE                   64
#define NVML_DEVICE_NAME_V2_BUFFER_SIZE                96
#define NVML_DEVICE_SERIAL_BUFFER_SIZE                 30
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE             32
#define NVML_DEVICE_PCI_BUS_ID_LEGACY_BUFFER_SIZE      16
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE         80
#define NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE           80

/* The bus id's printf format; the legacy one has four digits of domain. */
#define NVML_DEVICE_PCI_BUS_ID_FMT        "%08X:%02X:%02X.0"
#define NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT "%04X:%02X:%02X.0"

#define NVML_DEVICE_MIG_DISABLE 0x0
#define NVML_DEVICE_MIG_ENABLE  0x1

/* A process or event that belongs to no instance carries this for both ids. */
#define NVML_NO_INSTANCE_ID 0xFFFFFFFFU
/* "Not available" in a process's memory. */
#define NVML_VALUE_NOT_AVAILABLE_ULL (~0ULL)

/* What the GPU instance profile info calls take. NOT the profile id that they return. */
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE        0x0
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE        0x1
#define NVML_GPU_INSTANCE_PROFILE_3_SLICE        0x2
#define NVML_GPU_INSTANCE_PROFILE_4_SLICE        0x3
#define NVML_GPU_INSTANCE_PROFILE_7_SLICE        0x4
#define NVML_GPU_INSTANCE_PROFILE_8_SLICE        0x5
#define NVML_GPU_INSTANCE_PROFILE_6_SLICE        0x6
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1   0x7
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1   0x8
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2   0x9
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX    0xA
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX    0xB
#define NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX    0xC
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME  0xD
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME  0xE
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME 0xF
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME 0x10
#define NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX    0x11
#define NVML_GPU_INSTANCE_PROFILE_COUNT          0x12

#define NVML_GPU_INSTANCE_PROFILE_CAPS_P2P 0x1
#define NVML_GPU_INSTANCE_PROFILE_CAPS_GFX 0x2

#define NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE      0x0
#define NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE      0x1
#define NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE      0x2
#define NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE      0x3
#define NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE      0x4
#define NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE      0x5
#define NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE      0x6
#define NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 0x7
#define NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE_NVL  0x8
#define NVML_COMPUTE_INSTANCE_PROFILE_COUNT        0x9

#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED 0x0
#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT  0x1

typedef enum nvmlEnableState_enum {
	NVML_FEATURE_DISABLED = 0,
	NVML_FEATURE_ENABLED = 1,
} nvmlEnableState_t;

typedef enum nvmlComputeMode_enum {
	NVML_COMPUTEMODE_DEFAULT = 0,
	NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
	NVML_COMPUTEMODE_PROHIBITED = 2,
	NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
} nvmlComputeMode_t;

typedef enum nvmlTemperatureSensors_enum {
	NVML_TEMPERATURE_GPU = 0,
} nvmlTemperatureSensors_t;

typedef enum nvmlTemperatureThresholds_enum {
	NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
	NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
} nvmlTemperatureThresholds_t;

typedef enum nvmlClockType_enum {
	NVML_CLOCK_GRAPHICS = 0,
	NVML_CLOCK_SM = 1,
	NVML_CLOCK_MEM = 2,
} nvmlClockType_t;

typedef enum nvmlPcieUtilCounter_enum {
	NVML_PCIE_UTIL_TX_BYTES = 0,
	NVML_PCIE_UTIL_RX_BYTES = 1,
} nvmlPcieUtilCounter_t;

typedef unsigned int nvmlDeviceArchitecture_t;
#define NVML_DEVICE_ARCH_TURING    6
#define NVML_DEVICE_ARCH_AMPERE    7
#define NVML_DEVICE_ARCH_ADA       8
#define NVML_DEVICE_ARCH_HOPPER    9
#define NVML_DEVICE_ARCH_BLACKWELL 10
#define NVML_DEVICE_ARCH_UNKNOWN   0xFFFFFFFFU

typedef enum nvmlPStates_enum {
	NVML_PSTATE_0 = 0,
	NVML_PSTATE_15 = 15,
	NVML_PSTATE_UNKNOWN = 32,
} nvmlPstates_t;

typedef struct nvmlProcessUtilizationSample_st {
	unsigned int pid;
	unsigned long long timeStamp;
	unsigned int smUtil;
	unsigned int memUtil;
	unsigned int encUtil;
	unsigned int decUtil;
} nvmlProcessUtilizationSample_t;

/* How GPUs hang together. */
#define NVML_NVLINK_MAX_LINKS 18

typedef enum nvmlGpuLevel_enum {
	NVML_TOPOLOGY_INTERNAL = 0,
	NVML_TOPOLOGY_SINGLE = 10,
	NVML_TOPOLOGY_MULTIPLE = 20,
	NVML_TOPOLOGY_HOSTBRIDGE = 30,
	NVML_TOPOLOGY_NODE = 40,
	NVML_TOPOLOGY_SYSTEM = 50,
} nvmlGpuTopologyLevel_t;

typedef enum nvmlGpuP2PStatus_enum {
	NVML_P2P_STATUS_OK = 0,
	NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED = 1, /* the vendor's spelling */
	NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,
	NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED = 3,
	NVML_P2P_STATUS_DISABLED_BY_REGKEY = 4,
	NVML_P2P_STATUS_NOT_SUPPORTED = 5,
	NVML_P2P_STATUS_UNKNOWN = 6,
} nvmlGpuP2PStatus_t;

typedef enum nvmlGpuP2PCapsIndex_enum {
	NVML_P2P_CAPS_INDEX_READ = 0,
	NVML_P2P_CAPS_INDEX_WRITE = 1,
	NVML_P2P_CAPS_INDEX_NVLINK = 2,
	NVML_P2P_CAPS_INDEX_ATOMICS = 3,
	NVML_P2P_CAPS_INDEX_PROP = 4, /* newer headers: PCI */
	NVML_P2P_CAPS_INDEX_UNKNOWN = 5,
} nvmlGpuP2PCapsIndex_t;

typedef enum nvmlNvLinkCapability_enum {
	NVML_NVLINK_CAP_P2P_SUPPORTED = 0,
	NVML_NVLINK_CAP_SYSMEM_ACCESS = 1,
	NVML_NVLINK_CAP_P2P_ATOMICS = 2,
	NVML_NVLINK_CAP_SYSMEM_ATOMICS = 3,
	NVML_NVLINK_CAP_SLI_BRIDGE = 4,
	NVML_NVLINK_CAP_VALID = 5,
} nvmlNvLinkCapability_t;

typedef enum nvmlIntNvLinkDeviceType_enum {
	NVML_NVLINK_DEVICE_TYPE_GPU = 0x00,
	NVML_NVLINK_DEVICE_TYPE_IBMNPU = 0x01,
	NVML_NVLINK_DEVICE_TYPE_SWITCH = 0x02,
	NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 0xFF,
} nvmlIntNvLinkDeviceType_t;

/* What GetNvLinkVersion tells. */
#define NVML_NVLINK_VERSION_3_0 4
#define NVML_NVLINK_VERSION_4_0 6
#define NVML_NVLINK_VERSION_5_0 7

typedef unsigned int nvmlAffinityScope_t;
#define NVML_AFFINITY_SCOPE_NODE   0
#define NVML_AFFINITY_SCOPE_SOCKET 1

typedef unsigned char nvmlGpuFabricState_t;
#define NVML_GPU_FABRIC_UUID_LEN            16
#define NVML_GPU_FABRIC_STATE_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_STATE_NOT_STARTED   1
#define NVML_GPU_FABRIC_STATE_IN_PROGRESS   2
#define NVML_GPU_FABRIC_STATE_COMPLETED     3

#define NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY       1

typedef struct nvmlGpuFabricInfo_st {
	unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
	nvmlReturn_t status;
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
} nvmlGpuFabricInfo_t;

typedef struct nvmlGpuFabricInfo_v2_st {
	unsigned int version;
	unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
	nvmlReturn_t status;
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
	unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;

typedef struct nvmlGpuFabricInfo_v3_st {
	unsigned int version;
	unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
	nvmlReturn_t status;
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
	unsigned int healthMask;
	unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct nvmlPciInfo_st {
	char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_LEGACY_BUFFER_SIZE];
	unsigned int domain;
	unsigned int bus;
	unsigned int device;
	unsigned int pciDeviceId; /* device << 16 | vendor */
	unsigned int pciSubSystemId;
	char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
} nvmlPciInfo_t;

typedef struct nvmlMemory_st {
	unsigned long long total;
	unsigned long long free;
	unsigned long long used; /* with what the driver reserves */
} nvmlMemory_t;

typedef struct nvmlMemory_v2_st {
	unsigned int version;
	unsigned long long total;
	unsigned long long reserved;
	unsigned long long free;
	unsigned long long used; /* without what the driver reserves */
} nvmlMemory_v2_t;

typedef struct nvmlUtilization_st {
	unsigned int gpu;
	unsigned int memory;
} nvmlUtilization_t;

/* What the unversioned process calls fill. */
typedef struct nvmlProcessInfo_v1_st {
	unsigned int pid;
	unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

/* What the _v2 process calls fill: laid out as below, but a type of its own. */
typedef struct nvmlProcessInfo_v2_st {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId;
	unsigned int computeInstanceId;
} nvmlProcessInfo_v2_t;

/* What the _v3 process calls fill. */
typedef struct nvmlProcessInfo_st {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId;
	unsigned int computeInstanceId;
} nvmlProcessInfo_t;

typedef struct nvmlDeviceAttributes_st {
	unsigned int multiprocessorCount;
	unsigned int sharedCopyEngineCount;
	unsigned int sharedDecoderCount;
	unsigned int sharedEncoderCount;
	unsigned int sharedJpegCount;
	unsigned int sharedOfaCount;
	unsigned int gpuInstanceSliceCount;
	unsigned int computeInstanceSliceCount;
	unsigned long long memorySizeMB; /* MiB */
} nvmlDeviceAttributes_t;

/* In placement units of the board. */
typedef struct nvmlGpuInstancePlacement_st {
	unsigned int start;
	unsigned int size;
} nvmlGpuInstancePlacement_t;

typedef struct nvmlGpuInstanceProfileInfo_st {
	unsigned int id; /* the profile id: what create and capacity calls take */
	unsigned int isP2pSupported;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int copyEngineCount;
	unsigned int decoderCount;
	unsigned int encoderCount;
	unsigned int jpegCount;
	unsigned int ofaCount;
	unsigned long long memorySizeMB; /* MiB */
} nvmlGpuInstanceProfileInfo_t;

typedef struct nvmlGpuInstanceProfileInfo_v2_st {
	unsigned int version;
	unsigned int id;
	unsigned int isP2pSupported;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int copyEngineCount;
	unsigned int decoderCount;
	unsigned int encoderCount;
	unsigned int jpegCount;
	unsigned int ofaCount;
	unsigned long long memorySizeMB; /* MiB */
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
} nvmlGpuInstanceProfileInfo_v2_t;

typedef struct nvmlGpuInstanceProfileInfo_v3_st {
	unsigned int version;
	unsigned int id;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int copyEngineCount;
	unsigned int decoderCount;
	unsigned int encoderCount;
	unsigned int jpegCount;
	unsigned int ofaCount;
	unsigned long long memorySizeMB; /* MiB */
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	unsigned int capabilities; /* NVML_GPU_INSTANCE_PROFILE_CAPS_* */
} nvmlGpuInstanceProfileInfo_v3_t;

typedef struct nvmlGpuInstanceInfo_st {
	nvmlDevice_t device;
	unsigned int id;
	unsigned int profileId;
	nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;

/* In compute slices of the GPU instance. */
typedef struct nvmlComputeInstancePlacement_st {
	unsigned int start;
	unsigned int size;
} nvmlComputeInstancePlacement_t;

typedef struct nvmlComputeInstanceProfileInfo_st {
	unsigned int id;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int sharedCopyEngineCount;
	unsigned int sharedDecoderCount;
	unsigned int sharedEncoderCount;
	unsigned int sharedJpegCount;
	unsigned int sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;

typedef struct nvmlComputeInstanceProfileInfo_v2_st {
	unsigned int version;
	unsigned int id;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int sharedCopyEngineCount;
	unsigned int sharedDecoderCount;
	unsigned int sharedEncoderCount;
	unsigned int sharedJpegCount;
	unsigned int sharedOfaCount;
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
} nvmlComputeInstanceProfileInfo_v2_t;

typedef struct nvmlComputeInstanceProfileInfo_v3_st {
	unsigned int version;
	unsigned int id;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int sharedCopyEngineCount;
	unsigned int sharedDecoderCount;
	unsigned int sharedEncoderCount;
	unsigned int sharedJpegCount;
	unsigned int sharedOfaCount;
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	unsigned int capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;

typedef struct nvmlComputeInstanceInfo_st {
	nvmlDevice_t device;
	nvmlGpuInstance_t gpuInstance;
	unsigned int id;
	unsigned int profileId;
	nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;

/* The first field of a versioned struct; a caller sets it before the call. */
#define BH_NVML_VERSION(type, number) \
	((unsigned int) (sizeof(type) | ((unsigned int) (number) << 24U)))

#define NVML_MEMORY_V2                        BH_NVML_VERSION(nvmlMemory_v2_t, 2)
#define NVML_GPU_INSTANCE_PROFILE_INFO_V2     BH_NVML_VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2)
#define NVML_GPU_INSTANCE_PROFILE_INFO_V3     BH_NVML_VERSION(nvmlGpuInstanceProfileInfo_v3_t, 3)
#define NVML_COMPUTE_INSTANCE_PROFILE_INFO_V2 \
	BH_NVML_VERSION(nvmlComputeInstanceProfileInfo_v2_t, 2)
#define NVML_COMPUTE_INSTANCE_PROFILE_INFO_V3 \
	BH_NVML_VERSION(nvmlComputeInstanceProfileInfo_v3_t, 3)

#define NVML_GPU_FABRIC_INFO_V2 BH_NVML_VERSION(nvmlGpuFabricInfo_v2_t, 2)
#define NVML_GPU_FABRIC_INFO_V3 BH_NVML_VERSION(nvmlGpuFabricInfo_v3_t, 3)

/* X(type, bytes) and X(type, member, offset): asserted here, compared with vendor headers in CI. */
#define BH_NVML_SIZES(X)                                                                           \
	X(nvmlPciInfo_t, 68)                                                                       \
	X(nvmlMemory_t, 24)                                                                        \
	X(nvmlMemory_v2_t, 40)                                                                     \
	X(nvmlUtilization_t, 8)                                                                    \
	X(nvmlProcessInfo_v1_t, 16)                                                                \
	X(nvmlProcessInfo_v2_t, 24)                                                                \
	X(nvmlProcessInfo_t, 24)                                                                   \
	X(nvmlDeviceAttributes_t, 40)                                                              \
	X(nvmlGpuInstancePlacement_t, 8)                                                           \
	X(nvmlGpuInstanceProfileInfo_t, 48)                                                        \
	X(nvmlGpuInstanceProfileInfo_v2_t, 152)                                                    \
	X(nvmlGpuInstanceProfileInfo_v3_t, 152)                                                    \
	X(nvmlGpuInstanceInfo_t, 24)                                                               \
	X(nvmlComputeInstancePlacement_t, 8)                                                       \
	X(nvmlComputeInstanceProfileInfo_t, 36)                                                    \
	X(nvmlComputeInstanceProfileInfo_v2_t, 136)                                                \
	X(nvmlComputeInstanceProfileInfo_v3_t, 140)                                                \
	X(nvmlComputeInstanceInfo_t, 32)                                                           \
	X(nvmlProcessUtilizationSample_t, 32)                                                      \
	X(nvmlGpuFabricInfo_t, 28)                                                                 \
	X(nvmlGpuFabricInfo_v2_t, 36)                                                              \
	X(nvmlGpuFabricInfo_v3_t, 40)

#define BH_NVML_OFFSETS(X)                                                                         \
	X(nvmlPciInfo_t, domain, 16)                                                               \
	X(nvmlPciInfo_t, bus, 20)                                                                  \
	X(nvmlPciInfo_t, device, 24)                                                               \
	X(nvmlPciInfo_t, pciDeviceId, 28)                                                          \
	X(nvmlPciInfo_t, pciSubSystemId, 32)                                                       \
	X(nvmlPciInfo_t, busId, 36)                                                                \
	X(nvmlMemory_t, free, 8)                                                                   \
	X(nvmlMemory_t, used, 16)                                                                  \
	X(nvmlMemory_v2_t, total, 8)                                                               \
	X(nvmlMemory_v2_t, reserved, 16)                                                           \
	X(nvmlMemory_v2_t, free, 24)                                                               \
	X(nvmlMemory_v2_t, used, 32)                                                               \
	X(nvmlProcessInfo_v1_t, usedGpuMemory, 8)                                                  \
	X(nvmlProcessInfo_v2_t, gpuInstanceId, 16)                                                 \
	X(nvmlProcessInfo_v2_t, computeInstanceId, 20)                                             \
	X(nvmlProcessInfo_t, usedGpuMemory, 8)                                                     \
	X(nvmlProcessInfo_t, gpuInstanceId, 16)                                                    \
	X(nvmlProcessInfo_t, computeInstanceId, 20)                                                \
	X(nvmlDeviceAttributes_t, gpuInstanceSliceCount, 24)                                       \
	X(nvmlDeviceAttributes_t, memorySizeMB, 32)                                                \
	X(nvmlGpuInstanceProfileInfo_t, isP2pSupported, 4)                                         \
	X(nvmlGpuInstanceProfileInfo_t, instanceCount, 12)                                         \
	X(nvmlGpuInstanceProfileInfo_t, ofaCount, 36)                                              \
	X(nvmlGpuInstanceProfileInfo_t, memorySizeMB, 40)                                          \
	X(nvmlGpuInstanceProfileInfo_v2_t, id, 4)                                                  \
	X(nvmlGpuInstanceProfileInfo_v2_t, isP2pSupported, 8)                                      \
	X(nvmlGpuInstanceProfileInfo_v2_t, ofaCount, 40)                                           \
	X(nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB, 48)                                       \
	X(nvmlGpuInstanceProfileInfo_v2_t, name, 56)                                               \
	X(nvmlGpuInstanceProfileInfo_v3_t, id, 4)                                                  \
	X(nvmlGpuInstanceProfileInfo_v3_t, sliceCount, 8)                                          \
	X(nvmlGpuInstanceProfileInfo_v3_t, ofaCount, 36)                                           \
	X(nvmlGpuInstanceProfileInfo_v3_t, memorySizeMB, 40)                                       \
	X(nvmlGpuInstanceProfileInfo_v3_t, name, 48)                                               \
	X(nvmlGpuInstanceProfileInfo_v3_t, capabilities, 144)                                      \
	X(nvmlGpuInstanceInfo_t, id, 8)                                                            \
	X(nvmlGpuInstanceInfo_t, profileId, 12)                                                    \
	X(nvmlGpuInstanceInfo_t, placement, 16)                                                    \
	X(nvmlComputeInstanceProfileInfo_t, sliceCount, 4)                                         \
	X(nvmlComputeInstanceProfileInfo_t, sharedOfaCount, 32)                                    \
	X(nvmlComputeInstanceProfileInfo_v2_t, id, 4)                                              \
	X(nvmlComputeInstanceProfileInfo_v2_t, sharedOfaCount, 36)                                 \
	X(nvmlComputeInstanceProfileInfo_v2_t, name, 40)                                           \
	X(nvmlComputeInstanceProfileInfo_v3_t, name, 40)                                           \
	X(nvmlComputeInstanceProfileInfo_v3_t, capabilities, 136)                                  \
	X(nvmlComputeInstanceInfo_t, gpuInstance, 8)                                               \
	X(nvmlComputeInstanceInfo_t, id, 16)                                                       \
	X(nvmlComputeInstanceInfo_t, profileId, 20)                                                \
	X(nvmlComputeInstanceInfo_t, placement, 24)                                                \
	X(nvmlProcessUtilizationSample_t, timeStamp, 8)                                            \
	X(nvmlProcessUtilizationSample_t, smUtil, 16)                                              \
	X(nvmlGpuFabricInfo_t, status, 16)                                                         \
	X(nvmlGpuFabricInfo_t, cliqueId, 20)                                                       \
	X(nvmlGpuFabricInfo_t, state, 24)                                                          \
	X(nvmlGpuFabricInfo_v2_t, clusterUuid, 4)                                                  \
	X(nvmlGpuFabricInfo_v2_t, status, 20)                                                      \
	X(nvmlGpuFabricInfo_v2_t, cliqueId, 24)                                                    \
	X(nvmlGpuFabricInfo_v2_t, state, 28)                                                       \
	X(nvmlGpuFabricInfo_v2_t, healthMask, 32)                                                  \
	X(nvmlGpuFabricInfo_v3_t, clusterUuid, 4)                                                  \
	X(nvmlGpuFabricInfo_v3_t, healthMask, 32)                                                  \
	X(nvmlGpuFabricInfo_v3_t, healthSummary, 36)

#define X(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type);
BH_NVML_SIZES(X)
#undef X
#define X(type, member, offset)                                                                    \
	_Static_assert(offsetof(type, member) == (offset), "offset of " #type "." #member);
BH_NVML_OFFSETS(X)
#undef X
_Static_assert(NVML_MEMORY_V2 == 0x2000028, "version word");
_Static_assert(NVML_GPU_INSTANCE_PROFILE_INFO_V2 == 0x2000098, "version word");
_Static_assert(NVML_GPU_INSTANCE_PROFILE_INFO_V3 == 0x3000098, "version word");
_Static_assert(NVML_COMPUTE_INSTANCE_PROFILE_INFO_V2 == 0x2000088, "version word");
_Static_assert(NVML_COMPUTE_INSTANCE_PROFILE_INFO_V3 == 0x300008c, "version word");
_Static_assert(NVML_GPU_FABRIC_INFO_V2 == 0x2000024, "version word");
_Static_assert(NVML_GPU_FABRIC_INFO_V3 == 0x3000028, "version word");

/* clang-format on */
#endif
