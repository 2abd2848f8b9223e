import * as fc from 'fast-check';

/** Any code point, lone surrogates included: fc.string({ unit: 'binary' }) without a map of a million of them. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10_ffff }).map((code) => String.fromCodePoint(code));
