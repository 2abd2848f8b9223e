import * as fc from 'fast-check';

/** Regular expressions in RE2's syntax, right and wrong ones, each with a text to look through. */

const LETTERS = [
  'a',
  'b',
  'c',
  'A',
  'B',
  '1',
  ' ',
  '\n',
  '-',
  '_',
  '.',
  'é',
  'ß',
  'K',
  'ſ',
  '世',
  '🚀',
  'ǆ',
  'Σ',
  'σ',
  'ς',
] as const;

const atom = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', 'b', 'c', 'A', '1', '-', ' ', 'é', '世', '🚀', 'σ', 's', 'k'),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '.',
      '\\d',
      '\\D',
      '\\w',
      '\\W',
      '\\s',
      '\\S',
      '\\pL',
      '\\PL',
      '\\p{Lu}',
      '\\p{^Lu}',
      '\\p{Greek}',
      '\\x61',
      '\\x{4e16}',
      '\\n',
      '\\.',
      '\\-',
      '\\Qa.b\\E',
      '\\141',
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '[abc]',
      '[^a]',
      '[a-c]',
      '[^a-cA-C]',
      '[[:alpha:]]',
      '[[:^digit:]_]',
      '[\\d-]',
      '[]a]',
      '[a\\]]',
      '[^\\n]',
      '[\\pL1]',
      '[é-世]',
      '[-a]',
      '[a-]',
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B', '\\A', '\\z') },
  // Wrong ones, so that both refuse.
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '(',
      ')',
      '[',
      '*',
      '\\',
      '\\1',
      '[b-a]',
      '(?=a)',
      'a**',
      '\\8',
      '{',
      '(?P<1>a)',
      '\\pX',
      '(?P<n',
      '\\C',
      'x{1001}',
      '[[:foo:]]',
      '\\Z',
      '(?<n>a)',
      '\\x{110000}',
      'a{,2}',
      'a{2,1}',
    ),
  },
);

const repetition = fc.constantFrom(
  '',
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '*?',
  '+?',
  '??',
  '{2}',
  '{1,3}',
  '{0,2}?',
  '{2,}',
  '{0}',
);

const expression: fc.Memo<string> = fc.memo((depth) => {
  const piece =
    depth <= 1
      ? atom
      : fc.oneof(
          { weight: 5, arbitrary: atom },
          {
            weight: 3,
            arbitrary: fc
              .tuple(
                fc.constantFrom('(', '(?:', '(?i:', '(?s:', '(?U:', '(?P<n>', '(?m:', '(?i)('),
                expression(depth - 1),
              )
              .map(([open, inner]) => `${open}${inner})`),
          },
        );
  const sequence = fc
    .array(fc.tuple(piece, repetition), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.map(([one, times]) => one + times).join(''));
  return fc.oneof(
    { weight: 4, arbitrary: sequence },
    { weight: 1, arbitrary: fc.tuple(sequence, sequence).map(([one, other]) => `${one}|${other}`) },
    { weight: 1, arbitrary: sequence.map((one) => `${one}|`) },
  );
});

export const regexpCase: fc.Arbitrary<{ readonly pattern: string; readonly text: string }> = fc.record({
  pattern: fc
    .tuple(fc.constantFrom('', '', '', '(?i)', '(?m)', '(?s)', '(?U)', '(?im)'), expression(3))
    .map((parts) => parts.join('')),
  text: fc.string({ maxLength: 14, unit: fc.constantFrom(...LETTERS) }),
});
