import { array, assert, constantFrom, integer, option, oneof, property, record, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLines, formatTable, paragraph, type Table } from '../../cli/format-table.ts';

const RELEASES: Table = {
  head: ['CHANNEL', 'RELEASE', 'NOTE'],
  rows: [
    ['prod/kiosk', '8', 'current'],
    ['prod/factory-host', '12', ''],
  ],
};

const wide = (table: Table): readonly string[] => formatTable(table, undefined);

describe('a table without a limit', () => {
  it('has one line for each row, aligned, and no spaces at the end', () => {
    expect(wide(RELEASES)).toEqual([
      'CHANNEL            RELEASE  NOTE',
      'prod/kiosk         8        current',
      'prod/factory-host  12',
    ]);
    const long = 'x '.repeat(400).trim();
    expect(wide({ rows: [['a', long]] })).toEqual([`a  ${long}`]);
  });

  it('leaves out a column that is empty in every row, and prints no heading without a row', () => {
    expect(
      wide({
        head: ['A', 'B', 'C'],
        rows: [
          ['a', '', 'c'],
          ['a', '', ''],
        ],
      }),
    ).toEqual(['A  C', 'a  c', 'a']);
    expect(wide({ head: ['A', 'B'], rows: [] })).toEqual([]);
  });

  it('keeps smallest widths, so that rows printed one at a time are aligned', () => {
    expect(wide({ rows: [['a', 'b']], min: [5] })).toEqual(['a      b']);
  });

  it('shows line breaks and control characters of a cell as text', () => {
    expect(wide({ rows: [['a\nb', '\u001b[2J']] })).toEqual([String.raw`a b  \u001b[2J`]);
  });
});

describe('a table that is too wide', () => {
  it('continues a long text below itself', () => {
    const message = 'UNIT_FAILED: the unit torque.service did not become active within a minute';
    const table = {
      head: ['PACKAGE', 'REASON'],
      rows: [
        ['torque', message],
        ['kiosk', ''],
      ],
    };
    expect(formatTable(table, 60)).toEqual([
      'PACKAGE  REASON',
      'torque   UNIT_FAILED: the unit torque.service did not become',
      '         active within a minute',
      'kiosk',
    ]);
  });

  it('breaks a long name after punctuation, and a short one not at all', () => {
    const name = 'workload-of-the-north-with-a-name-of-many-words';
    const rows = [[name, '2026-11-21T08:00:00Z', 'until', '2027-05-20T08:00:00Z']];
    expect(formatTable({ rows }, 80)).toEqual([
      'workload-of-the-north-with-    2026-11-21T08:00:00Z  until  2027-05-20T08:00:00Z',
      'a-name-of-many-words',
    ]);
  });

  it('puts columns for which no room is left onto lines of their own, with their headings', () => {
    const [when, digest] = ['2026-11-21T08:00:00Z', 'sha256:0123456789ab'];
    const table = {
      head: ['FROM', 'UNTIL', 'BUNDLE', 'NOTE'],
      rows: [
        [when, when, digest, 'direct change'],
        [when, when, digest, ''],
      ],
    };
    expect(formatTable(table, 66)).toEqual([
      'FROM                  UNTIL                 BUNDLE',
      '    NOTE',
      `${when}  ${when}  ${digest}`,
      '    direct change',
      `${when}  ${when}  ${digest}`,
    ]);
  });

  it('counts East Asian characters as two columns', () => {
    expect(formatTable({ rows: [['工場'.repeat(10)]] }, 30)).toEqual([`${'工場'.repeat(7)}工`, '場工場工場']);
    expect(
      wide({
        rows: [
          ['工場', 'x'],
          ['abcde', 'y'],
        ],
      }),
    ).toEqual(['工場   x', 'abcde  y']);
  });
});

describe('a paragraph', () => {
  it('is broken at spaces and indented from its second line on', () => {
    expect(formatLines([paragraph('one two three four five six', 2), 'a line that is too long'], 22)).toEqual(
      ['  one two three four', '      five six', 'a line that is too', '    long'],
    );
  });
});

describe('any table in any width', () => {
  const word = string({
    unit: constantFrom('a', 'Z', '7', '-', '/', ':', '工'),
    minLength: 1,
    maxLength: 90,
    size: 'max',
  });
  const cell = array(word, { maxLength: 12, size: 'max' }).map((words) => words.join(' '));
  const row = oneof(cell, array(cell, { minLength: 1, maxLength: 9 }));
  const table = record({
    head: option(array(constantFrom('PACKAGE', 'STATUS', 'A NOTE'), { minLength: 9, maxLength: 9 }), {
      nil: undefined,
    }),
    rows: array(row, { maxLength: 6 }),
    indent: integer({ min: 0, max: 8 }),
  });
  const columnsOf = (line: string): number => line.length + (line.match(/工/g) ?? []).length;
  const letters = (lines: readonly string[]): string =>
    Array.from(lines.join('').replaceAll(' ', '')).toSorted().join('');

  it('fits, and nothing of it is lost', () => {
    assert(
      property(table, integer({ min: 40, max: 200 }), ({ head, ...rest }, width) => {
        const made = head === undefined ? rest : { ...rest, head };
        const lines = formatTable(made, width);
        expect(lines.filter((line) => columnsOf(line) > width)).toEqual([]);
        expect(letters(lines)).toBe(letters(wide(made)));
      }),
    );
  });

  it('is the same as without a limit where that fits', () => {
    assert(
      property(table, ({ head, ...rest }) => {
        const made = head === undefined ? rest : { ...rest, head };
        const lines = wide(made);
        const width = Math.max(40, ...lines.map(columnsOf));
        expect(formatTable(made, width)).toEqual(lines);
      }),
    );
  });
});
