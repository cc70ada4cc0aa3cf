#include "textflag.h"

// func highVNNI(dst *int32, codes *byte, plain *int8, groups, blocks int)
// One register holds 8 dimensions of 16 rows, 4 bytes each; every lane of 32 bits sums up
// its own row, so nothing is added across lanes.
TEXT ·highVNNI(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ plain+16(FP), DX
	MOVQ groups+24(FP), CX
	MOVQ blocks+32(FP), BX
	MOVL $0x0F0F0F0F, AX
	VPBROADCASTD AX, Z31

highBlock:
	TESTQ BX, BX
	JZ    highDone
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	MOVQ  DX, R8
	MOVQ  CX, R9

highPair:
	CMPQ R9, $2
	JL   highSingle
	PREFETCHT0 4096(SI)
	PREFETCHT0 4160(SI)
	VMOVDQU64 (SI), Z4
	VMOVDQU64 64(SI), Z6
	VPANDD Z31, Z4, Z5
	VPSRLW $4, Z4, Z4
	VPANDD Z31, Z4, Z4
	VPANDD Z31, Z6, Z7
	VPSRLW $4, Z6, Z6
	VPANDD Z31, Z6, Z6
	VPDPBUSD.BCST (R8), Z5, Z0
	VPDPBUSD.BCST 4(R8), Z4, Z1
	VPDPBUSD.BCST 8(R8), Z7, Z2
	VPDPBUSD.BCST 12(R8), Z6, Z3
	ADDQ $128, SI
	ADDQ $16, R8
	SUBQ $2, R9
	JMP  highPair

highSingle:
	TESTQ R9, R9
	JZ    highStore
	VMOVDQU64 (SI), Z4
	VPANDD Z31, Z4, Z5
	VPSRLW $4, Z4, Z4
	VPANDD Z31, Z4, Z4
	VPDPBUSD.BCST (R8), Z5, Z0
	VPDPBUSD.BCST 4(R8), Z4, Z1
	ADDQ $64, SI

highStore:
	VPADDD Z1, Z0, Z0
	VPADDD Z3, Z2, Z2
	VPADDD Z2, Z0, Z0
	VMOVDQU32 Z0, (DI)
	ADDQ $64, DI
	DECQ BX
	JMP  highBlock

highDone:
	VZEROUPPER
	RET

// func aboveAVX512(bits *uint64, d *int32, scale, err *float32, words int, c, e, t float32)
TEXT ·aboveAVX512(SB), NOSPLIT, $0-52
	MOVQ bits+0(FP), DI
	MOVQ d+8(FP), SI
	MOVQ scale+16(FP), DX
	MOVQ err+24(FP), CX
	MOVQ words+32(FP), BX
	VBROADCASTSS c+40(FP), Z16
	VBROADCASTSS e+44(FP), Z17
	VBROADCASTSS t+48(FP), Z18

aboveWord:
	TESTQ BX, BX
	JZ    aboveDone
	VCVTDQ2PS (SI), Z0
	VCVTDQ2PS 64(SI), Z1
	VCVTDQ2PS 128(SI), Z2
	VCVTDQ2PS 192(SI), Z3
	VSUBPS Z16, Z0, Z0
	VSUBPS Z16, Z1, Z1
	VSUBPS Z16, Z2, Z2
	VSUBPS Z16, Z3, Z3
	VMULPS (DX), Z0, Z0
	VMULPS 64(DX), Z1, Z1
	VMULPS 128(DX), Z2, Z2
	VMULPS 192(DX), Z3, Z3
	VMULPS (CX), Z17, Z4
	VMULPS 64(CX), Z17, Z5
	VMULPS 128(CX), Z17, Z6
	VMULPS 192(CX), Z17, Z7
	VADDPS Z4, Z0, Z0
	VADDPS Z5, Z1, Z1
	VADDPS Z6, Z2, Z2
	VADDPS Z7, Z3, Z3
	VCMPPS $29, Z18, Z0, K1
	VCMPPS $29, Z18, Z1, K2
	VCMPPS $29, Z18, Z2, K3
	VCMPPS $29, Z18, Z3, K4
	KUNPCKWD K1, K2, K1
	KUNPCKWD K3, K4, K3
	KUNPCKDQ K1, K3, K1
	KMOVQ K1, (DI)
	ADDQ $8, DI
	ADDQ $256, SI
	ADDQ $256, DX
	ADDQ $256, CX
	DECQ BX
	JMP  aboveWord

aboveDone:
	VZEROUPPER
	RET

// func lowVNNI(dst *int32, codes *byte, list *uint32, n int, even, odd *int8, size int)
// size is the bytes of a row, a multiple of 4. The row that comes 8 later in the list is
// fetched meanwhile.
TEXT ·lowVNNI(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ list+16(FP), DX
	MOVQ n+24(FP), BX
	MOVQ even+32(FP), R8
	MOVQ odd+40(FP), R9
	MOVQ size+48(FP), R10
	MOVL $0x0F0F0F0F, AX
	VPBROADCASTD AX, Z31

	// K1 admits the words of 4 bytes that a row has beyond its last whole 64 bytes.
	MOVQ R10, CX
	ANDQ $63, CX
	SHRQ $2, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1

lowRow:
	TESTQ BX, BX
	JZ    lowDone
	MOVL  (DX), R11
	IMULQ R10, R11
	ADDQ  SI, R11
	MOVQ  R11, R13
	CMPQ  BX, $8
	JLE   lowNear
	MOVL  32(DX), R13
	IMULQ R10, R13
	ADDQ  SI, R13

lowNear:
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	XORQ   R12, R12
	MOVQ   R10, CX

low64:
	PREFETCHT0 (R13)(R12*1)
	CMPQ CX, $64
	JL   lowTail
	VMOVDQU64 (R11)(R12*1), Z4
	VPANDD Z31, Z4, Z5
	VPSRLW $4, Z4, Z4
	VPANDD Z31, Z4, Z4
	VPDPBUSD (R8)(R12*1), Z5, Z0
	VPDPBUSD (R9)(R12*1), Z4, Z1
	ADDQ $64, R12
	SUBQ $64, CX
	JMP  low64

lowTail:
	TESTQ CX, CX
	JZ    lowSum
	VMOVDQU32.Z (R11)(R12*1), K1, Z4
	VPANDD Z31, Z4, Z5
	VPSRLW $4, Z4, Z4
	VPANDD Z31, Z4, Z4
	VPDPBUSD (R8)(R12*1), Z5, Z0
	VPDPBUSD (R9)(R12*1), Z4, Z1

lowSum:
	VPADDD Z1, Z0, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPADDD Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, (DI)
	ADDQ $4, DI
	ADDQ $4, DX
	DECQ BX
	JMP  lowRow

lowDone:
	VZEROUPPER
	RET

// func highAVX2(dst *int32, codes *byte, plain *int8, groups, blocks int)
// Sums of two products stay within ±3810 and of four within ±7620, so the instruction that
// saturates at 16 bits never does.
TEXT ·highAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ plain+16(FP), DX
	MOVQ groups+24(FP), CX
	MOVQ blocks+32(FP), BX
	MOVL $0x0F0F0F0F, AX
	MOVQ AX, X15
	VPBROADCASTD X15, Y15
	MOVL $0x00010001, AX
	MOVQ AX, X14
	VPBROADCASTD X14, Y14

high2Block:
	TESTQ BX, BX
	JZ    high2Done
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	MOVQ  DX, R8
	MOVQ  CX, R9

high2Group:
	PREFETCHT0 4096(SI)
	VMOVDQU (SI), Y2
	VMOVDQU 32(SI), Y3
	VPBROADCASTD (R8), Y8
	VPBROADCASTD 4(R8), Y9
	VPSRLW $4, Y2, Y4
	VPSRLW $4, Y3, Y5
	VPAND Y15, Y2, Y2
	VPAND Y15, Y3, Y3
	VPAND Y15, Y4, Y4
	VPAND Y15, Y5, Y5
	VPMADDUBSW Y8, Y2, Y2
	VPMADDUBSW Y8, Y3, Y3
	VPMADDUBSW Y9, Y4, Y4
	VPMADDUBSW Y9, Y5, Y5
	VPADDW Y4, Y2, Y2
	VPADDW Y5, Y3, Y3
	VPMADDWD Y14, Y2, Y2
	VPMADDWD Y14, Y3, Y3
	VPADDD Y2, Y0, Y0
	VPADDD Y3, Y1, Y1
	ADDQ $64, SI
	ADDQ $8, R8
	DECQ R9
	JNZ  high2Group

	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, DI
	DECQ BX
	JMP  high2Block

high2Done:
	VZEROUPPER
	RET

#define ABOVE8(offset, shift) \
	VCVTDQ2PS offset(SI), Y0    \
	VSUBPS Y13, Y0, Y0          \
	VMULPS offset(DX), Y0, Y0   \
	VMULPS offset(CX), Y14, Y1  \
	VADDPS Y1, Y0, Y0           \
	VCMPPS $29, Y15, Y0, Y0     \
	VMOVMSKPS Y0, AX            \
	SHLQ $shift, AX             \
	ORQ AX, R8

// func aboveAVX2(bits *uint64, d *int32, scale, err *float32, words int, c, e, t float32)
TEXT ·aboveAVX2(SB), NOSPLIT, $0-52
	MOVQ bits+0(FP), DI
	MOVQ d+8(FP), SI
	MOVQ scale+16(FP), DX
	MOVQ err+24(FP), CX
	MOVQ words+32(FP), BX
	VBROADCASTSS c+40(FP), Y13
	VBROADCASTSS e+44(FP), Y14
	VBROADCASTSS t+48(FP), Y15

above2Word:
	TESTQ BX, BX
	JZ    above2Done
	XORQ  R8, R8
	ABOVE8(0, 0)
	ABOVE8(32, 8)
	ABOVE8(64, 16)
	ABOVE8(96, 24)
	ABOVE8(128, 32)
	ABOVE8(160, 40)
	ABOVE8(192, 48)
	ABOVE8(224, 56)
	MOVQ R8, (DI)
	ADDQ $8, DI
	ADDQ $256, SI
	ADDQ $256, DX
	ADDQ $256, CX
	DECQ BX
	JMP  above2Word

above2Done:
	VZEROUPPER
	RET

// func lowAVX2(dst *int32, codes *byte, list *uint32, n int, even, odd *int8, size int, tail *int32)
// tail points to 8 words, all ones where the last, incomplete 32 bytes of a row have one.
TEXT ·lowAVX2(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ list+16(FP), DX
	MOVQ n+24(FP), BX
	MOVQ even+32(FP), R8
	MOVQ odd+40(FP), R9
	MOVQ size+48(FP), R10
	MOVQ tail+56(FP), AX
	VMOVDQU (AX), Y13
	MOVL $0x0F0F0F0F, AX
	MOVQ AX, X15
	VPBROADCASTD X15, Y15
	MOVL $0x00010001, AX
	MOVQ AX, X14
	VPBROADCASTD X14, Y14

low2Row:
	TESTQ BX, BX
	JZ    low2Done
	MOVL  (DX), R11
	IMULQ R10, R11
	ADDQ  SI, R11
	MOVQ  R11, R13
	CMPQ  BX, $8
	JLE   low2Near
	MOVL  32(DX), R13
	IMULQ R10, R13
	ADDQ  SI, R13

low2Near:
	VPXOR Y0, Y0, Y0
	XORQ  R12, R12
	MOVQ  R10, CX

low2Part:
	PREFETCHT0 (R13)(R12*1)
	CMPQ CX, $32
	JL   low2Tail
	VMOVDQU (R11)(R12*1), Y2
	JMP  low2Dot

low2Tail:
	TESTQ CX, CX
	JZ    low2Sum
	LEAQ  (R11)(R12*1), AX
	VPMASKMOVD (AX), Y13, Y2
	MOVQ  $32, CX

low2Dot:
	VPSRLW $4, Y2, Y3
	VPAND Y15, Y2, Y2
	VPAND Y15, Y3, Y3
	VPMADDUBSW (R8)(R12*1), Y2, Y2
	VPMADDUBSW (R9)(R12*1), Y3, Y3
	VPADDW Y3, Y2, Y2
	VPMADDWD Y14, Y2, Y2
	VPADDD Y2, Y0, Y0
	ADDQ $32, R12
	SUBQ $32, CX
	JMP  low2Part

low2Sum:
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, (DI)
	ADDQ $4, DI
	ADDQ $4, DX
	DECQ BX
	JMP  low2Row

low2Done:
	VZEROUPPER
	RET
