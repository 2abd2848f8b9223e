import { type Mutate, mutateBytes } from './mutate-bytes.ts';
import type { Random } from './random.ts';

type Span = { readonly at: number; readonly head: number; readonly end: number };

/** Every value in DER with its place, read as far as it can be understood. */
const valuesOf = (der: Buffer, from = 0, end = der.length): readonly Span[] => {
  const spans: Span[] = [];
  for (let at = from; at + 2 <= end; ) {
    const first = der[at + 1] as number;
    const more = first & 0x80 ? first & 0x7f : 0;
    if (more > 4 || at + 2 + more > end) return spans;
    const length = more === 0 ? first : der.readUIntBE(at + 2, more || 1);
    const head = 2 + more;
    if (at + head + length > end) return spans;
    spans.push({ at, head, end: at + head + length });
    if ((der[at] as number) & 0x20) spans.push(...valuesOf(der, at + head, at + head + length));
    at += head + length;
  }
  return spans;
};

const changeDer = (random: Random, der: Buffer): Buffer => {
  const spans = valuesOf(der);
  if (spans.length === 0) return mutateBytes(random, der, []);
  const { at, head, end } = random.pick(spans);
  const kind = random.below(7);
  const copy = Buffer.from(der);
  if (kind === 0) copy[at] = random.below(256);
  else if (kind === 1) copy[at + 1] = random.below(256);
  else if (kind === 2) copy.fill(random.below(256), at + head, end);
  else if (kind === 3) return Buffer.concat([der.subarray(0, at), der.subarray(end)]);
  else if (kind === 4) return Buffer.concat([der.subarray(0, end), der.subarray(at, end), der.subarray(end)]);
  else if (kind === 5) {
    const other = random.pick(spans);
    return Buffer.concat([der.subarray(0, at), der.subarray(other.at, other.end), der.subarray(end)]);
  } else return mutateBytes(random, der, []);
  return copy;
};

const PEM = /-----BEGIN ([A-Z ]+)-----([^-]*)-----END/;

/** The DER inside a PEM block, or the text around it. */
export const mutatePem: Mutate = (random, input, others) => {
  const [, label, base64] = PEM.exec(input.toString('latin1')) ?? [];
  if (label === undefined || base64 === undefined || random.chance(20))
    return mutateBytes(random, input, others);
  let der = Buffer.from(base64, 'base64');
  for (let count = 1 + random.below(3); count > 0; count--) der = Buffer.from(changeDer(random, der));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return Buffer.from([`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n'));
};
