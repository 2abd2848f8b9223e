import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFleetError } from '../../../../bundles/errors.ts';
import { lex } from '../../../../scheduler/render/go/lex.ts';
import { parse } from '../../../../scheduler/render/go/parse.ts';
import { anyCharacter } from '../../../harness/fleets/any-character.ts';
import { runs } from '../../../harness/run/long.ts';

const source = (text: string) => ({ engine: 'go', name: 'n', text, at: { file: 'f' } }) as const;

const kinds = (text: string): readonly string[] =>
  lex(source(text)).map(({ kind, text: value }) => `${kind} ${value}`.trim());

/** Pieces of the language in any order: most of it is wrong, all of it must end. */
const soup = fc
  .array(
    fc.constantFrom(
      '{{',
      '}}',
      '{{-',
      '-}}',
      ' ',
      '\n',
      '.',
      '.a',
      '$',
      '$x',
      '"',
      '`',
      "'",
      '\\',
      '(',
      ')',
      '|',
      ':=',
      '=',
      ',',
      '/*',
      '*/',
      'if',
      'else',
      'end',
      'range',
      'with',
      'define',
      'template',
      'block',
      'break',
      '"t"',
      '1',
      '-',
      '0x',
      'e',
      'nil',
      'true',
      'print',
      'ä',
      '🚀',
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

describe('lex', () => {
  it('separates text from actions, with the offset of each token', () => {
    expect(lex(source('a{{ .b }}')).map(({ kind, at, spaced }) => [kind, at, spaced])).toEqual([
      ['text', 0, false],
      ['open', 1, false],
      ['field', 4, true],
      ['close', 7, true],
      ['end', 9, false],
    ]);
  });

  it.each([
    [
      '{{ $x := .a.b | print "s" 1.5 }}',
      [
        'open {{',
        'variable $x',
        'declare :=',
        'field .a',
        'field .b',
        'pipe |',
        'identifier print',
        'string "s"',
        'number 1.5',
        'close }}',
        'end',
      ],
    ],
    ['{{ if (true) }}', ['open {{', 'keyword if', 'left (', 'bool true', 'right )', 'close }}', 'end']],
    [
      "{{ . $ nil `r` 'c' -1 , = }}",
      [
        'open {{',
        'dot .',
        'variable $',
        'nil nil',
        'raw `r`',
        "character 'c'",
        'number -1',
        'comma ,',
        'assign =',
        'close }}',
        'end',
      ],
    ],
    ['a {{- /* c */ -}} b', ['text a', 'text b', 'end']],
    ['{{ "}}" }}', ['open {{', 'string "}}"', 'close }}', 'end']],
  ])('splits %j into tokens', (text, expected) => {
    expect(kinds(text)).toEqual(expected);
  });

  it('returns tokens or a TEMPLATE_SYNTAX error for any text', () => {
    fc.assert(
      fc.property(fc.oneof(soup, fc.string({ unit: anyCharacter })), (text) => {
        try {
          const tokens = lex(source(text));
          expect(tokens.at(-1)).toMatchObject({ kind: 'end', at: text.length });
        } catch (error) {
          expect(isFleetError(error, 'TEMPLATE_SYNTAX')).toBe(true);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it('returns text without an action unchanged', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('{{') && text !== ''),
        (text) => {
          expect(lex(source(text)).map((token) => token.text)).toEqual([text, '']);
        },
      ),
    );
  });
});

describe('parse', () => {
  it('returns a tree or a TEMPLATE_SYNTAX error for any tokens', () => {
    fc.assert(
      fc.property(soup, (text) => {
        try {
          expect(parse(source(`{{ ${text} }}`), 50).main).toBeInstanceOf(Array);
        } catch (error) {
          expect(isFleetError(error, 'TEMPLATE_SYNTAX')).toBe(true);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it('returns plain data', () => {
    const tree = parse(source('{{ if .a }}x{{ end }}'), 50);
    expect(structuredClone(tree.main)).toEqual([
      {
        kind: 'if',
        at: 3,
        branches: [
          {
            pipe: {
              at: 6,
              variables: [],
              commands: [{ at: 6, words: [{ kind: 'field', at: 6, path: [{ at: 6, name: 'a' }] }] }],
            },
            body: [{ kind: 'text', at: 11, text: 'x' }],
          },
        ],
        otherwise: [],
      },
    ]);
  });
});
