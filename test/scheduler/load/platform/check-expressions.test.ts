import { expect, it } from 'vitest';
import { checkExpressions } from '../../../../scheduler/load/platform/check-expressions.ts';
import { createProblems } from '../../../../scheduler/model/problems.ts';
import { clusterType } from '../../model-objects.ts';

const at = (line: number) => ({ file: 'cluster-types/edge.yaml', line, column: 18 });

it('an expression that is not valid CEL is a mistake at its place', async () => {
  const problems = createProblems();
  const health = {
    current: { value: "status.phase == 'Up'", at: at(7) },
    failed: { value: 'staus.phase == 1', at: at(8) },
    inProgress: { value: 'status.phase = 1', at: at(9) },
  };
  await checkExpressions(
    [
      clusterType('edge', {
        objectRules: [
          { kinds: ['*'], health },
          { kinds: ['*'], wait: false },
        ],
      }),
    ],
    problems,
  );
  expect(problems.found).toMatchObject([
    {
      code: 'FIELD_INVALID',
      at: at(8),
      subject: 'ClusterType edge',
      message: expect.stringContaining('health.failed is not an expression: it names "staus"'),
      hint: expect.stringContaining('status'),
    },
    { at: at(9), message: expect.stringContaining('health.inProgress is not an expression: line 1:14') },
  ]);
});
