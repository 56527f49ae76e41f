/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML's functions, once. Prototypes, the product's table of pointers, its loader and the entry
 * points of the simulated library all grow from this list, so the compiler checks each against the
 * others. A row:
 *
 *   X(name, need, params, args, out, checked_by)
 *
 *   name        as exported; versioned wherever the vendor has a version, except in SIM_ONLY rows
 *   need        what the product's loader does: REQUIRED (missing: refuse, naming it), OPTIONAL
 *               (missing: that ability is unsupported), SIM_ONLY (not looked up; for others)
 *   params/args the parameters with and without their types
 *   out         of a changing call, its only output pointer (may be NULL at run time); else NULL
 *   checked_by  where the signature can be compared: HEADER (nvml.h 11.8), BINDINGS (public
 *               bindings of API 13), NONE (nowhere; the product may not use such a row)
 *
 * Use need and checked_by by pasting: BH_ABI_##need, BH_ABI_CHECKED_##checked_by.
 * nvmlErrorString() alone returns text and has a list of its own, of the same columns.
 */
#ifndef BH_ABI_NVML_SYMBOLS_H
#define BH_ABI_NVML_SYMBOLS_H

#include "abi/nvml.h"

enum bh_abi_need {
	BH_ABI_REQUIRED,
	BH_ABI_OPTIONAL,
	BH_ABI_SIM_ONLY,
};

enum bh_abi_checked {
	BH_ABI_CHECKED_HEADER,
	BH_ABI_CHECKED_BINDINGS,
	BH_ABI_CHECKED_NONE,
};

/* clang-format off */
#define BH_NVML_TEXT_SYMBOLS(X)                                                                    \
	X(nvmlErrorString, REQUIRED, (nvmlReturn_t result), (result), NULL, HEADER)

#define BH_NVML_SYMBOLS(X)                                                                         \
	/* the library and the system */                                                           \
	X(nvmlInit_v2, REQUIRED, (void), (), NULL, HEADER)                                         \
	X(nvmlInitWithFlags, SIM_ONLY, (unsigned int flags), (flags), NULL, HEADER)                \
	X(nvmlShutdown, REQUIRED, (void), (), NULL, HEADER)                                        \
	X(nvmlSystemGetDriverVersion, REQUIRED,                                                    \
		(char *version, unsigned int length), (version, length), NULL, HEADER)             \
	X(nvmlSystemGetNVMLVersion, SIM_ONLY,                                                      \
		(char *version, unsigned int length), (version, length), NULL, HEADER)             \
	X(nvmlSystemGetCudaDriverVersion, SIM_ONLY,                                                \
		(int *cudaDriverVersion), (cudaDriverVersion), NULL, HEADER)                       \
	X(nvmlSystemGetCudaDriverVersion_v2, OPTIONAL,                                             \
		(int *cudaDriverVersion), (cudaDriverVersion), NULL, HEADER)                       \
	X(nvmlSystemGetProcessName, OPTIONAL,                                                      \
		(unsigned int pid, char *name, unsigned int length),                               \
		(pid, name, length), NULL, HEADER)                                                 \
	/* devices */                                                                              \
	X(nvmlDeviceGetCount_v2, REQUIRED,                                                         \
		(unsigned int *deviceCount), (deviceCount), NULL, HEADER)                          \
	X(nvmlDeviceGetHandleByIndex_v2, REQUIRED,                                                 \
		(unsigned int index, nvmlDevice_t *device), (index, device), NULL, HEADER)         \
	X(nvmlDeviceGetHandleByUUID, REQUIRED,                                                     \
		(const char *uuid, nvmlDevice_t *device), (uuid, device), NULL, HEADER)            \
	X(nvmlDeviceGetHandleByPciBusId_v2, REQUIRED,                                              \
		(const char *pciBusId, nvmlDevice_t *device), (pciBusId, device), NULL, HEADER)    \
	X(nvmlDeviceGetIndex, REQUIRED,                                                            \
		(nvmlDevice_t device, unsigned int *index), (device, index), NULL, HEADER)         \
	X(nvmlDeviceGetName, REQUIRED,                                                             \
		(nvmlDevice_t device, char *name, unsigned int length),                            \
		(device, name, length), NULL, HEADER)                                              \
	X(nvmlDeviceGetUUID, REQUIRED,                                                             \
		(nvmlDevice_t device, char *uuid, unsigned int length),                            \
		(device, uuid, length), NULL, HEADER)                                              \
	X(nvmlDeviceGetSerial, OPTIONAL,                                                           \
		(nvmlDevice_t device, char *serial, unsigned int length),                          \
		(device, serial, length), NULL, HEADER)                                            \
	X(nvmlDeviceGetMinorNumber, OPTIONAL,                                                      \
		(nvmlDevice_t device, unsigned int *minorNumber),                                  \
		(device, minorNumber), NULL, HEADER)                                               \
	X(nvmlDeviceGetPciInfo_v3, REQUIRED,                                                       \
		(nvmlDevice_t device, nvmlPciInfo_t *pci), (device, pci), NULL, HEADER)            \
	X(nvmlDeviceGetMemoryInfo, REQUIRED,                                                       \
		(nvmlDevice_t device, nvmlMemory_t *memory), (device, memory), NULL, HEADER)       \
	X(nvmlDeviceGetMemoryInfo_v2, OPTIONAL,                                                    \
		(nvmlDevice_t device, nvmlMemory_v2_t *memory), (device, memory), NULL, HEADER)    \
	X(nvmlDeviceGetCudaComputeCapability, SIM_ONLY,                                            \
		(nvmlDevice_t device, int *major, int *minor),                                     \
		(device, major, minor), NULL, HEADER)                                              \
	X(nvmlDeviceGetArchitecture, SIM_ONLY,                                                     \
		(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch),                             \
		(device, arch), NULL, HEADER)                                                      \
	X(nvmlDeviceGetComputeMode, OPTIONAL,                                                      \
		(nvmlDevice_t device, nvmlComputeMode_t *mode), (device, mode), NULL, HEADER)      \
	X(nvmlDeviceGetPersistenceMode, OPTIONAL,                                                  \
		(nvmlDevice_t device, nvmlEnableState_t *mode), (device, mode), NULL, HEADER)      \
	X(nvmlDeviceGetUtilizationRates, SIM_ONLY,                                                 \
		(nvmlDevice_t device, nvmlUtilization_t *utilization),                             \
		(device, utilization), NULL, HEADER)                                               \
	X(nvmlDeviceGetTemperature, SIM_ONLY,                                                      \
		(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp),    \
		(device, sensorType, temp), NULL, HEADER)                                          \
	X(nvmlDeviceGetPowerUsage, SIM_ONLY,                                                       \
		(nvmlDevice_t device, unsigned int *power), (device, power), NULL, HEADER)         \
	/* sensors, for monitors that insist on having them */                                     \
	X(nvmlDeviceGetClockInfo, SIM_ONLY,                                                        \
		(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock),                  \
		(device, type, clock), NULL, HEADER)                                               \
	X(nvmlDeviceGetMaxClockInfo, SIM_ONLY,                                                     \
		(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock),                  \
		(device, type, clock), NULL, HEADER)                                               \
	X(nvmlDeviceGetCurrPcieLinkGeneration, SIM_ONLY,                                           \
		(nvmlDevice_t device, unsigned int *currLinkGen),                                  \
		(device, currLinkGen), NULL, HEADER)                                               \
	X(nvmlDeviceGetCurrPcieLinkWidth, SIM_ONLY,                                                \
		(nvmlDevice_t device, unsigned int *currLinkWidth),                                \
		(device, currLinkWidth), NULL, HEADER)                                             \
	X(nvmlDeviceGetMaxPcieLinkGeneration, SIM_ONLY,                                            \
		(nvmlDevice_t device, unsigned int *maxLinkGen),                                   \
		(device, maxLinkGen), NULL, HEADER)                                                \
	X(nvmlDeviceGetMaxPcieLinkWidth, SIM_ONLY,                                                 \
		(nvmlDevice_t device, unsigned int *maxLinkWidth),                                 \
		(device, maxLinkWidth), NULL, HEADER)                                              \
	X(nvmlDeviceGetPcieThroughput, SIM_ONLY,                                                   \
		(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *value),         \
		(device, counter, value), NULL, HEADER)                                            \
	X(nvmlDeviceGetDecoderUtilization, SIM_ONLY,                                               \
		(nvmlDevice_t device, unsigned int *utilization, unsigned int *samplingPeriodUs),  \
		(device, utilization, samplingPeriodUs), NULL, HEADER)                             \
	X(nvmlDeviceGetEncoderUtilization, SIM_ONLY,                                               \
		(nvmlDevice_t device, unsigned int *utilization, unsigned int *samplingPeriodUs),  \
		(device, utilization, samplingPeriodUs), NULL, HEADER)                             \
	X(nvmlDeviceGetEnforcedPowerLimit, SIM_ONLY,                                               \
		(nvmlDevice_t device, unsigned int *limit), (device, limit), NULL, HEADER)         \
	X(nvmlDeviceGetFanSpeed, SIM_ONLY,                                                         \
		(nvmlDevice_t device, unsigned int *speed), (device, speed), NULL, HEADER)         \
	X(nvmlDeviceGetTemperatureThreshold, SIM_ONLY,                                             \
		(nvmlDevice_t device, nvmlTemperatureThresholds_t thresholdType, \
		unsigned int *temp), \
		(device, thresholdType, temp), NULL, HEADER)                                       \
	/* how GPUs hang together */                                                               \
	X(nvmlDeviceGetTopologyCommonAncestor, SIM_ONLY,                                           \
		(nvmlDevice_t device1, nvmlDevice_t device2,                                       \
		nvmlGpuTopologyLevel_t *pathInfo),                                                 \
		(device1, device2, pathInfo), NULL, HEADER)                                        \
	X(nvmlDeviceGetTopologyNearestGpus, SIM_ONLY,                                              \
		(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int *count,           \
		nvmlDevice_t *deviceArray),                                                        \
		(device, level, count, deviceArray), NULL, HEADER)                                 \
	X(nvmlSystemGetTopologyGpuSet, SIM_ONLY,                                                   \
		(unsigned int cpuNumber, unsigned int *count,                                      \
		nvmlDevice_t *deviceArray),                                                        \
		(cpuNumber, count, deviceArray), NULL, HEADER)                                     \
	X(nvmlDeviceGetP2PStatus, SIM_ONLY,                                                        \
		(nvmlDevice_t device1, nvmlDevice_t device2,                                       \
		nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t *p2pStatus),                    \
		(device1, device2, p2pIndex, p2pStatus), NULL, HEADER)                             \
	X(nvmlDeviceGetNvLinkState, SIM_ONLY,                                                      \
		(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *isActive),             \
		(device, link, isActive), NULL, HEADER)                                            \
	X(nvmlDeviceGetNvLinkVersion, SIM_ONLY,                                                    \
		(nvmlDevice_t device, unsigned int link, unsigned int *version),                   \
		(device, link, version), NULL, HEADER)                                             \
	X(nvmlDeviceGetNvLinkCapability, SIM_ONLY,                                                 \
		(nvmlDevice_t device, unsigned int link,                                           \
		nvmlNvLinkCapability_t capability, unsigned int *capResult),                       \
		(device, link, capability, capResult), NULL, HEADER)                               \
	X(nvmlDeviceGetNvLinkRemotePciInfo_v2, SIM_ONLY,                                           \
		(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci),                      \
		(device, link, pci), NULL, HEADER)                                                 \
	X(nvmlDeviceGetNvLinkRemoteDeviceType, SIM_ONLY,                                           \
		(nvmlDevice_t device, unsigned int link,                                           \
		nvmlIntNvLinkDeviceType_t *pNvLinkDeviceType),                                     \
		(device, link, pNvLinkDeviceType), NULL, HEADER)                                   \
	X(nvmlDeviceGetCpuAffinity, SIM_ONLY,                                                      \
		(nvmlDevice_t device, unsigned int cpuSetSize, unsigned long *cpuSet),             \
		(device, cpuSetSize, cpuSet), NULL, HEADER)                                        \
	X(nvmlDeviceGetCpuAffinityWithinScope, SIM_ONLY,                                           \
		(nvmlDevice_t device, unsigned int cpuSetSize, unsigned long *cpuSet,              \
		nvmlAffinityScope_t scope),                                                        \
		(device, cpuSetSize, cpuSet, scope), NULL, HEADER)                                 \
	X(nvmlDeviceGetMemoryAffinity, SIM_ONLY,                                                   \
		(nvmlDevice_t device, unsigned int nodeSetSize, unsigned long *nodeSet,            \
		nvmlAffinityScope_t scope),                                                        \
		(device, nodeSetSize, nodeSet, scope), NULL, HEADER)                               \
	X(nvmlDeviceGetNumaNodeId, SIM_ONLY,                                                       \
		(nvmlDevice_t device, unsigned int *node),                                         \
		(device, node), NULL, BINDINGS)                                                    \
	X(nvmlDeviceGetGpuFabricInfo, SIM_ONLY,                                                    \
		(nvmlDevice_t device, nvmlGpuFabricInfo_t *gpuFabricInfo),                         \
		(device, gpuFabricInfo), NULL, BINDINGS)                                           \
	/* gpuFabricInfo points to a v2 or a v3 struct, as its version word says */                \
	X(nvmlDeviceGetGpuFabricInfoV, SIM_ONLY,                                                   \
		(nvmlDevice_t device, nvmlGpuFabricInfo_v2_t *gpuFabricInfo),                      \
		(device, gpuFabricInfo), NULL, BINDINGS)                                           \
	/* what monitors and bindings ask beside the rest */                                       \
	X(nvmlDeviceGetHandleBySerial, SIM_ONLY,                                                   \
		(const char *serial, nvmlDevice_t *device), (serial, device), NULL, HEADER)        \
	X(nvmlDeviceOnSameBoard, SIM_ONLY,                                                         \
		(nvmlDevice_t device1, nvmlDevice_t device2, int *onSameBoard),                    \
		(device1, device2, onSameBoard), NULL, HEADER)                                     \
	X(nvmlDeviceGetMultiGpuBoard, SIM_ONLY,                                                    \
		(nvmlDevice_t device, unsigned int *multiGpuBool),                                 \
		(device, multiGpuBool), NULL, HEADER)                                              \
	X(nvmlDeviceGetDisplayActive, SIM_ONLY,                                                    \
		(nvmlDevice_t device, nvmlEnableState_t *isActive),                                \
		(device, isActive), NULL, HEADER)                                                  \
	X(nvmlDeviceGetDisplayMode, SIM_ONLY,                                                      \
		(nvmlDevice_t device, nvmlEnableState_t *display),                                 \
		(device, display), NULL, HEADER)                                                   \
	X(nvmlDeviceGetPowerManagementLimit, SIM_ONLY,                                             \
		(nvmlDevice_t device, unsigned int *limit), (device, limit), NULL, HEADER)         \
	X(nvmlDeviceGetPerformanceState, SIM_ONLY,                                                 \
		(nvmlDevice_t device, nvmlPstates_t *pState), (device, pState), NULL, HEADER)      \
	X(nvmlDeviceGetProcessUtilization, SIM_ONLY,                                               \
		(nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,                 \
		unsigned int *processSamplesCount, unsigned long long lastSeenTimeStamp),          \
		(device, utilization, processSamplesCount, lastSeenTimeStamp), NULL, HEADER)       \
	/* who is there */                                                                         \
	X(nvmlDeviceGetComputeRunningProcesses_v3, REQUIRED,                                       \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),          \
		(device, infoCount, infos), NULL, HEADER)                                          \
	X(nvmlDeviceGetComputeRunningProcesses_v2, SIM_ONLY,                                       \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),       \
		(device, infoCount, infos), NULL, HEADER)                                          \
	X(nvmlDeviceGetGraphicsRunningProcesses_v3, OPTIONAL,                                      \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),          \
		(device, infoCount, infos), NULL, HEADER)                                          \
	X(nvmlDeviceGetGraphicsRunningProcesses_v2, SIM_ONLY,                                      \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos),       \
		(device, infoCount, infos), NULL, HEADER)                                          \
	X(nvmlDeviceGetMPSComputeRunningProcesses_v3, OPTIONAL,                                    \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos),          \
		(device, infoCount, infos), NULL, HEADER)                                          \
	/* the first versions of these, which some monitors insist on */                           \
	X(nvmlDeviceGetComputeRunningProcesses, SIM_ONLY,                                          \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),       \
		(device, infoCount, infos), NULL, HEADER)                                          \
	X(nvmlDeviceGetGraphicsRunningProcesses, SIM_ONLY,                                         \
		(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos),       \
		(device, infoCount, infos), NULL, HEADER)                                          \
	/* MIG mode and MIG devices */                                                             \
	X(nvmlDeviceGetMigMode, REQUIRED,                                                          \
		(nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode),       \
		(device, currentMode, pendingMode), NULL, HEADER)                                  \
	X(nvmlDeviceSetMigMode, REQUIRED,                                                          \
		(nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activationStatus),          \
		(device, mode, activationStatus), activationStatus, HEADER)                        \
	X(nvmlDeviceGetMaxMigDeviceCount, REQUIRED,                                                \
		(nvmlDevice_t device, unsigned int *count), (device, count), NULL, HEADER)         \
	X(nvmlDeviceGetMigDeviceHandleByIndex, REQUIRED,                                           \
		(nvmlDevice_t device, unsigned int index, nvmlDevice_t *migDevice),                \
		(device, index, migDevice), NULL, HEADER)                                          \
	X(nvmlDeviceIsMigDeviceHandle, OPTIONAL,                                                   \
		(nvmlDevice_t device, unsigned int *isMigDevice),                                  \
		(device, isMigDevice), NULL, HEADER)                                               \
	X(nvmlDeviceGetGpuInstanceId, REQUIRED,                                                    \
		(nvmlDevice_t device, unsigned int *id), (device, id), NULL, HEADER)               \
	X(nvmlDeviceGetComputeInstanceId, REQUIRED,                                                \
		(nvmlDevice_t device, unsigned int *id), (device, id), NULL, HEADER)               \
	X(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, OPTIONAL,                                  \
		(nvmlDevice_t migDevice, nvmlDevice_t *device), (migDevice, device), NULL, HEADER) \
	X(nvmlDeviceGetAttributes_v2, OPTIONAL,                                                    \
		(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes),                         \
		(device, attributes), NULL, HEADER)                                                \
	/* GPU instances; "profile" is the enum, "profileId" is what the info call returned */     \
	X(nvmlDeviceGetGpuInstanceProfileInfo, REQUIRED,                                           \
		(nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info),   \
		(device, profile, info), NULL, HEADER)                                             \
	/* info points to a v2 or a v3 struct, as its version word says */                         \
	X(nvmlDeviceGetGpuInstanceProfileInfoV, OPTIONAL,                                          \
		(nvmlDevice_t device, unsigned int profile, \
		nvmlGpuInstanceProfileInfo_v2_t *info), \
		(device, profile, info), NULL, HEADER)                                             \
	X(nvmlDeviceGetGpuInstanceProfileInfoByIdV, OPTIONAL,                                      \
		(nvmlDevice_t device, unsigned int profileId,                                      \
		nvmlGpuInstanceProfileInfo_v2_t *info), (device, profileId, info), NULL, BINDINGS) \
	X(nvmlDeviceGetGpuInstancePossiblePlacements_v2, REQUIRED,                                 \
		(nvmlDevice_t device, unsigned int profileId,                                      \
		nvmlGpuInstancePlacement_t *placements, unsigned int *count),                      \
		(device, profileId, placements, count), NULL, HEADER)                              \
	X(nvmlDeviceGetGpuInstanceRemainingCapacity, REQUIRED,                                     \
		(nvmlDevice_t device, unsigned int profileId, unsigned int *count),                \
		(device, profileId, count), NULL, HEADER)                                          \
	X(nvmlDeviceCreateGpuInstance, SIM_ONLY,                                                   \
		(nvmlDevice_t device, unsigned int profileId, nvmlGpuInstance_t *gpuInstance),     \
		(device, profileId, gpuInstance), gpuInstance, HEADER)                             \
	X(nvmlDeviceCreateGpuInstanceWithPlacement, REQUIRED,                                      \
		(nvmlDevice_t device, unsigned int profileId,                                      \
		const nvmlGpuInstancePlacement_t *placement, nvmlGpuInstance_t *gpuInstance),      \
		(device, profileId, placement, gpuInstance), gpuInstance, HEADER)                  \
	X(nvmlGpuInstanceDestroy, REQUIRED,                                                        \
		(nvmlGpuInstance_t gpuInstance), (gpuInstance), NULL, HEADER)                      \
	X(nvmlDeviceGetGpuInstances, REQUIRED,                                                     \
		(nvmlDevice_t device, unsigned int profileId, nvmlGpuInstance_t *gpuInstances,     \
		unsigned int *count), (device, profileId, gpuInstances, count), NULL, HEADER)      \
	X(nvmlDeviceGetGpuInstanceById, REQUIRED,                                                  \
		(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *gpuInstance),            \
		(device, id, gpuInstance), NULL, HEADER)                                           \
	X(nvmlGpuInstanceGetInfo, REQUIRED,                                                        \
		(nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info),                      \
		(gpuInstance, info), NULL, HEADER)                                                 \
	/* compute instances */                                                                    \
	X(nvmlGpuInstanceGetComputeInstanceProfileInfo, REQUIRED,                                  \
		(nvmlGpuInstance_t gpuInstance, unsigned int profile, unsigned int engProfile,     \
		nvmlComputeInstanceProfileInfo_t *info),                                           \
		(gpuInstance, profile, engProfile, info), NULL, HEADER)                            \
	X(nvmlGpuInstanceGetComputeInstanceProfileInfoV, OPTIONAL,                                 \
		(nvmlGpuInstance_t gpuInstance, unsigned int profile, unsigned int engProfile,     \
		nvmlComputeInstanceProfileInfo_v2_t *info),                                        \
		(gpuInstance, profile, engProfile, info), NULL, HEADER)                            \
	X(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, REQUIRED,                            \
		(nvmlGpuInstance_t gpuInstance, unsigned int profileId, unsigned int *count),      \
		(gpuInstance, profileId, count), NULL, HEADER)                                     \
	X(nvmlGpuInstanceGetComputeInstancePossiblePlacements, OPTIONAL,                           \
		(nvmlGpuInstance_t gpuInstance, unsigned int profileId,                            \
		nvmlComputeInstancePlacement_t *placements, unsigned int *count),                  \
		(gpuInstance, profileId, placements, count), NULL, BINDINGS)                       \
	X(nvmlGpuInstanceCreateComputeInstance, REQUIRED,                                          \
		(nvmlGpuInstance_t gpuInstance, unsigned int profileId,                            \
		nvmlComputeInstance_t *computeInstance),                                           \
		(gpuInstance, profileId, computeInstance), computeInstance, HEADER)                \
	X(nvmlGpuInstanceCreateComputeInstanceWithPlacement, OPTIONAL,                             \
		(nvmlGpuInstance_t gpuInstance, unsigned int profileId,                            \
		const nvmlComputeInstancePlacement_t *placement,                                   \
		nvmlComputeInstance_t *computeInstance),                                           \
		(gpuInstance, profileId, placement, computeInstance), computeInstance, BINDINGS)   \
	X(nvmlComputeInstanceDestroy, REQUIRED,                                                    \
		(nvmlComputeInstance_t computeInstance), (computeInstance), NULL, HEADER)          \
	X(nvmlGpuInstanceGetComputeInstances, REQUIRED,                                            \
		(nvmlGpuInstance_t gpuInstance, unsigned int profileId,                            \
		nvmlComputeInstance_t *computeInstances, unsigned int *count),                     \
		(gpuInstance, profileId, computeInstances, count), NULL, HEADER)                   \
	X(nvmlGpuInstanceGetComputeInstanceById, REQUIRED,                                         \
		(nvmlGpuInstance_t gpuInstance, unsigned int id,                                   \
		nvmlComputeInstance_t *computeInstance),                                           \
		(gpuInstance, id, computeInstance), NULL, HEADER)                                  \
	X(nvmlComputeInstanceGetInfo_v2, REQUIRED,                                                 \
		(nvmlComputeInstance_t computeInstance, nvmlComputeInstanceInfo_t *info),          \
		(computeInstance, info), NULL, HEADER)
/* clang-format on */

#define X(name, need, params, args, out, checked_by) const char *name params;
BH_NVML_TEXT_SYMBOLS(X)
#undef X
#define X(name, need, params, args, out, checked_by) nvmlReturn_t name params;
BH_NVML_SYMBOLS(X)
#undef X

#endif
