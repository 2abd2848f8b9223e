import { expect, it, test } from 'vitest';
import { formatError, isFleetError } from '#bundles/errors';
import type { Json } from '#bundles/json/canonical';
import { formatCsv, readCsv } from '../../../../scheduler/hub/sites/csv.ts';
import type { ListedSite } from '../../../../scheduler/hub/sites/list-sites.ts';
import { formatValuesCsv, readValuesCsv } from '../../../../scheduler/hub/sites/values-csv.ts';

const site = (name: string, values: Readonly<Record<string, Json>>, own?: Readonly<Record<string, Json>>) =>
  ({
    site: name,
    values,
    agents: own ? [{ agent: 'press-1', values: own, revokedAt: null }] : [],
  }) as unknown as ListedSite;

const refused = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    if (isFleetError(error)) return formatError(error);
    throw error;
  }
  return 'taken';
};

test.each([
  [
    'commas',
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'semicolons and the line ends and mark of a spreadsheet',
    '\uFEFFa;b\r\n1,5;2\r\n',
    [
      ['a', 'b'],
      ['1,5', '2'],
    ],
  ],
  [
    'quotes with separators, line breaks and quotes',
    'a,"b, c"\n"x\ny","say ""no"""\n',
    [
      ['a', 'b, c'],
      ['x\ny', 'say "no"'],
    ],
  ],
  [
    'empty fields and lines, and no line end at the end',
    'a,b,\n\n,,\n1, 2 ,3',
    [
      ['a', 'b', ''],
      ['', '', ''],
      ['1', '2', '3'],
    ],
  ],
])('reads CSV with %s', (_, text, rows) => {
  expect(readCsv(text, 'x.csv').map(({ cells }) => cells)).toEqual(rows);
});

it('readCsv counts lines, including those inside a quoted field', () => {
  expect(readCsv('a\n"x\ny"\n\nz\n', 'x.csv').map(({ line }) => line)).toEqual([1, 2, 5]);
  expect(refused(() => readCsv('a,b\n1,x"y\n', 'x.csv'))).toMatch(
    /^x.csv:2:1: FIELD_INVALID: a quote does not end/,
  );
  expect(refused(() => readCsv('a\n"x\n', 'x.csv'))).toMatch(/^x.csv:2:1: FIELD_INVALID/);
});

it('readCsv reads what formatCsv writes', () => {
  const rows = [
    ['a', ' b', 'c"d'],
    ['1,5', 'x;y', 'z\nw'],
    ['', '"', ''],
  ];
  expect(readCsv(formatCsv(rows), 'x.csv').map(({ cells }) => cells)).toEqual(rows);
});

const VALUES = {
  text: 'north',
  number: 7,
  fraction: 0.5,
  digits: '007',
  wholeAsText: '7',
  truth: true,
  truthAsText: 'true',
  none: null,
  list: ['a, b', 1],
  map: { a: { b: 'c' } },
  empty: '',
  spaces: ' x ',
  quoted: 'say "no"',
  lines: 'a\nb',
  formula: '=1+1',
} as const;

it('a CSV of the current values changes nothing', () => {
  const sites = [site('plant-7', VALUES, { number: 8 }), site('plant-8', {})];
  const changes = readValuesCsv(formatValuesCsv(sites), 'x.csv', sites);
  expect(changes.map(({ change }) => change)).toEqual([
    { site: 'plant-7', set: {}, unset: [] },
    { site: 'plant-7', agent: 'press-1', set: {}, unset: [] },
    { site: 'plant-8', set: {}, unset: [] },
  ]);
});

it('exported values give another hub the same values, numbers with fractions as the text that their schema makes numbers', () => {
  const [first] = readValuesCsv(formatValuesCsv([site('plant-7', VALUES)]), 'x.csv', []);
  expect(first?.change.set).toEqual({ ...VALUES, fraction: '0.5' });
});

test.each([
  ['name,site\n', 'x.csv:1:1: FIELD_INVALID: the first column is not site'],
  ['site,a,a\n', 'x.csv:1:1: FIELD_INVALID: the column "a" is there twice'],
  ['site,a\nplant-7\n', 'x.csv:2:1: FIELD_INVALID: 1 fields, and the header has 2'],
  ['site,a\nplant-7,1\nplant-7,2\n', 'x.csv:3:1: NAME_CLASH: plant-7 is in line 2 already'],
  ['site,a b\nplant-7,1\n', 'x.csv:2:1: FIELD_INVALID: "a b=1" is not <name>=<value>'],
  ['site,a\nPlant 7,1\n', 'x.csv:2:1: '],
])('refuses %j', (text, message) => {
  expect(refused(() => readValuesCsv(text, 'x.csv', []))).toContain(message);
});
