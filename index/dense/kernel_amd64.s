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

// func nearAVX512(dst, matrix *float32, list *uint32, n int, query *float32, dim int)
TEXT ·nearAVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ matrix+8(FP), SI
	MOVQ list+16(FP), DX
	MOVQ n+24(FP), BX
	MOVQ query+32(FP), R8
	MOVQ dim+40(FP), R10
	MOVQ R10, CX
	ANDQ $15, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
	SHLQ $2, R10

nearRow:
	TESTQ BX, BX
	JZ    nearDone
	MOVL  (DX), R11
	IMULQ R10, R11
	ADDQ  SI, R11
	MOVQ  R11, R13
	CMPQ  BX, $3
	JLE   nearNear
	MOVL  12(DX), R13
	IMULQ R10, R13
	ADDQ  SI, R13

nearNear:
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	XORQ   R12, R12
	MOVQ   R10, CX

near256:
	CMPQ CX, $256
	JL   near64
	PREFETCHT0 (R13)(R12*1)
	PREFETCHT0 64(R13)(R12*1)
	PREFETCHT0 128(R13)(R12*1)
	PREFETCHT0 192(R13)(R12*1)
	VMOVUPS (R11)(R12*1), Z4
	VMOVUPS 64(R11)(R12*1), Z5
	VMOVUPS 128(R11)(R12*1), Z6
	VMOVUPS 192(R11)(R12*1), Z7
	VFMADD231PS (R8)(R12*1), Z4, Z0
	VFMADD231PS 64(R8)(R12*1), Z5, Z1
	VFMADD231PS 128(R8)(R12*1), Z6, Z2
	VFMADD231PS 192(R8)(R12*1), Z7, Z3
	ADDQ $256, R12
	SUBQ $256, CX
	JMP  near256

near64:
	CMPQ CX, $64
	JL   nearTail
	PREFETCHT0 (R13)(R12*1)
	VMOVUPS (R11)(R12*1), Z4
	VFMADD231PS (R8)(R12*1), Z4, Z0
	ADDQ $64, R12
	SUBQ $64, CX
	JMP  near64

nearTail:
	TESTQ CX, CX
	JZ    nearSum
	VMOVUPS.Z (R11)(R12*1), K1, Z4
	VMOVUPS.Z (R8)(R12*1), K1, Z5
	VFMADD231PS Z5, Z4, Z1

nearSum:
	VADDPS Z1, Z0, Z0
	VADDPS Z3, Z2, Z2
	VADDPS Z2, Z0, Z0
	VEXTRACTF64X4 $1, Z0, Y1
	VADDPS Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VADDPS X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VADDPS X1, X0, X0
	VMOVSS X0, (DI)
	ADDQ $4, DI
	ADDQ $4, DX
	DECQ BX
	JMP  nearRow

nearDone:
	VZEROUPPER
	RET

// func nearAVX2(dst, matrix *float32, list *uint32, n int, query *float32, dim int)
TEXT ·nearAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ matrix+8(FP), SI
	MOVQ list+16(FP), DX
	MOVQ n+24(FP), BX
	MOVQ query+32(FP), R8
	MOVQ dim+40(FP), R10
	SHLQ $2, R10

near2Row:
	TESTQ BX, BX
	JZ    near2Done
	MOVL  (DX), R11
	IMULQ R10, R11
	ADDQ  SI, R11
	MOVQ  R11, R13
	CMPQ  BX, $3
	JLE   near2Near
	MOVL  12(DX), R13
	IMULQ R10, R13
	ADDQ  SI, R13

near2Near:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	XORQ   R12, R12
	MOVQ   R10, CX

near2Loop128:
	CMPQ CX, $128
	JL   near2Tail
	PREFETCHT0 (R13)(R12*1)
	PREFETCHT0 64(R13)(R12*1)
	VMOVUPS (R11)(R12*1), Y4
	VMOVUPS 32(R11)(R12*1), Y5
	VMOVUPS 64(R11)(R12*1), Y6
	VMOVUPS 96(R11)(R12*1), Y7
	VFMADD231PS (R8)(R12*1), Y4, Y0
	VFMADD231PS 32(R8)(R12*1), Y5, Y1
	VFMADD231PS 64(R8)(R12*1), Y6, Y2
	VFMADD231PS 96(R8)(R12*1), Y7, Y3
	ADDQ $128, R12
	SUBQ $128, CX
	JMP  near2Loop128

near2Tail:
	VADDPS Y1, Y0, Y0
	VADDPS Y3, Y2, Y2
	VADDPS Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VADDPS X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VADDPS X1, X0, X0

near2One:
	TESTQ CX, CX
	JZ    near2Store
	VMOVSS (R11)(R12*1), X4
	VFMADD231SS (R8)(R12*1), X4, X0
	ADDQ $4, R12
	SUBQ $4, CX
	JMP  near2One

near2Store:
	VMOVSS X0, (DI)
	ADDQ $4, DI
	ADDQ $4, DX
	DECQ BX
	JMP  near2Row

near2Done:
	VZEROUPPER
	RET

// func signsAVX512(dst *int32, codes, planes *uint64, words, blocks int)
// One register holds 64 dimensions of 8 rows.
TEXT ·signsAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ planes+16(FP), DX
	MOVQ words+24(FP), CX
	MOVQ blocks+32(FP), BX

signsBlock:
	TESTQ BX, BX
	JZ    signsDone
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	MOVQ  DX, R8
	MOVQ  CX, R9

signsWord:
	PREFETCHT0 4096(SI)
	VMOVDQU64 (SI), Z4
	VPANDQ.BCST (R8), Z4, Z5
	VPANDQ.BCST 8(R8), Z4, Z6
	VPANDQ.BCST 16(R8), Z4, Z7
	VPANDQ.BCST 24(R8), Z4, Z8
	VPOPCNTQ Z5, Z5
	VPOPCNTQ Z6, Z6
	VPOPCNTQ Z7, Z7
	VPOPCNTQ Z8, Z8
	VPADDQ Z5, Z0, Z0
	VPADDQ Z6, Z1, Z1
	VPADDQ Z7, Z2, Z2
	VPADDQ Z8, Z3, Z3
	ADDQ $64, SI
	ADDQ $32, R8
	DECQ R9
	JNZ  signsWord

	VPSLLQ $1, Z1, Z1
	VPSLLQ $2, Z2, Z2
	VPSLLQ $3, Z3, Z3
	VPADDQ Z1, Z0, Z0
	VPADDQ Z2, Z0, Z0
	VPSUBQ Z3, Z0, Z0
	VPMOVQD Z0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	DECQ BX
	JMP  signsBlock

signsDone:
	VZEROUPPER
	RET

#define COUNT4(plane, sum) \
	VPBROADCASTQ plane(R8), Y5 \
	VPAND Y4, Y5, Y5           \
	VPAND Y15, Y5, Y6          \
	VPSRLW $4, Y5, Y5          \
	VPAND Y15, Y5, Y5          \
	VPSHUFB Y6, Y14, Y6        \
	VPSHUFB Y5, Y14, Y5        \
	VPADDB Y6, sum, sum        \
	VPADDB Y5, sum, sum

// func signsAVX2(dst *int32, codes, planes *uint64, words, blocks int)
// One register holds 64 dimensions of 4 rows. Bits are counted by nibbles with a table and
// added up in bytes, which hold 31 words.
TEXT ·signsAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ codes+8(FP), SI
	MOVQ planes+16(FP), DX
	MOVQ words+24(FP), CX
	MOVQ blocks+32(FP), BX
	SHLQ $1, BX
	MOVL $0x0F0F0F0F, AX
	MOVQ AX, X15
	VPBROADCASTD X15, Y15
	MOVQ $0x0302020102010100, AX
	MOVQ AX, X14
	MOVQ $0x0403030203020201, AX
	MOVQ AX, X13
	VPUNPCKLQDQ X13, X14, X14
	VINSERTI128 $1, X14, Y14, Y14
	VPXOR Y13, Y13, Y13
	XORQ R11, R11                 // offset of the half in a block

signs2Half:
	TESTQ BX, BX
	JZ    signs2Done
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	MOVQ  DX, R8
	MOVQ  CX, R9
	LEAQ  (SI)(R11*1), R10

signs2Word:
	PREFETCHT0 2048(R10)
	VMOVDQU (R10), Y4
	COUNT4(0, Y0)
	COUNT4(8, Y1)
	COUNT4(16, Y2)
	COUNT4(24, Y3)
	ADDQ $64, R10
	ADDQ $32, R8
	DECQ R9
	JNZ  signs2Word

	VPSADBW Y13, Y0, Y0
	VPSADBW Y13, Y1, Y1
	VPSADBW Y13, Y2, Y2
	VPSADBW Y13, Y3, Y3
	VPSLLQ $1, Y1, Y1
	VPSLLQ $2, Y2, Y2
	VPSLLQ $3, Y3, Y3
	VPADDQ Y1, Y0, Y0
	VPADDQ Y2, Y0, Y0
	VPSUBQ Y3, Y0, Y0
	VPSHUFD $0x08, Y0, Y0
	VPERMQ $0x08, Y0, Y0
	VMOVDQU X0, (DI)
	ADDQ $16, DI
	DECQ BX
	XORQ $32, R11
	JNZ  signs2Half
	MOVQ CX, AX
	SHLQ $6, AX
	ADDQ AX, SI
	JMP  signs2Half

signs2Done:
	VZEROUPPER
	RET
