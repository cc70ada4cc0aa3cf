#include "textflag.h"

// SDOT Vd.4S, Vn.16B, Vm.16B, which the assembler does not know.
#define SDOT(vd, vn, vm) WORD $(0x4E809400 | (vm << 16) | (vn << 5) | vd)

// func highDot(dst *int32, codes *byte, plain *int8, groups, blocks int)
// Four registers hold 8 dimensions of 16 rows, 4 bytes each; every lane of 32 bits sums up
// its own row.
TEXT ·highDot(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD codes+8(FP), R1
	MOVD plain+16(FP), R2
	MOVD groups+24(FP), R3
	MOVD blocks+32(FP), R4
	VMOVI $15, V31.B16

block:
	CBZ  R4, done
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	MOVD R2, R5
	MOVD R3, R6

group:
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1R.P 4(R5), [V16.S4]
	VLD1R.P 4(R5), [V17.S4]
	VAND  V31.B16, V4.B16, V20.B16
	VAND  V31.B16, V5.B16, V21.B16
	VAND  V31.B16, V6.B16, V22.B16
	VAND  V31.B16, V7.B16, V23.B16
	VUSHR $4, V4.B16, V24.B16
	VUSHR $4, V5.B16, V25.B16
	VUSHR $4, V6.B16, V26.B16
	VUSHR $4, V7.B16, V27.B16
	SDOT(0, 20, 16)
	SDOT(1, 21, 16)
	SDOT(2, 22, 16)
	SDOT(3, 23, 16)
	SDOT(0, 24, 17)
	SDOT(1, 25, 17)
	SDOT(2, 26, 17)
	SDOT(3, 27, 17)
	SUB  $1, R6
	CBNZ R6, group

	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUB  $1, R4
	B    block

done:
	RET
