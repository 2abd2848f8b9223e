import { type Mutate, mutateBytes } from './mutate-bytes.ts';

const WORDS = [
  'Bearer ',
  'Basic ',
  'realm=',
  'scope=',
  '"',
  '\\"',
  ',',
  ';',
  '=',
  '<',
  '>',
  ' rel="next"',
  '%2f',
  '://',
  '[::1]',
  '@',
  ':0',
  'oci://',
  'https://',
  '\u00e4',
  '\ud83d\ude00',
  '\r\n',
  '\t',
  '#',
  '?',
  '..',
  '/',
] as const;

/** Headers and addresses: words that mean something, in places where they should not be. */
export const mutateText: Mutate = (random, input, others) => {
  let bytes = input;
  for (let count = random.below(5); count > 0; count--) {
    const at = random.below(bytes.length + 1);
    const word = Buffer.from(random.pick(WORDS).repeat(random.chance(5) ? random.below(3000) : 1));
    bytes = Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at)]);
  }
  return random.chance(60) ? mutateBytes(random, bytes, others) : bytes;
};
