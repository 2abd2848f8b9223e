import { expect, test } from 'vitest';
import { toCsv } from '../../../../scheduler/page/parts/csv.ts';

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`],
  [' =1+1', "' =1+1"],
  ['\uff1d1+1', "'\uff1d1+1"],
  ['failed;=cmd|x!A1;', "failed;'=cmd|x!A1;"],
  ['failed; @SUM(A1)', "failed;' @SUM(A1)"],
  ['failed\n=1+1', `"failed\n'=1+1"`],
  ['a-b; c', 'a-b; c'],
  ['plant-7', 'plant-7'],
  ['a,b', '"a,b"'],
  ['a "b"', '"a ""b"""'],
  ['two\nlines', '"two\nlines"'],
  ['', ''],
])('the cell %j is %j', (cell, written) => {
  expect(toCsv([[cell, 'x']])).toBe(`${written},x\r\n`);
});
