import { expect, test } from 'vitest';
import { FleetError } from '../../../../bundles/errors.ts';
import type {
  AssignmentDiff,
  EnvironmentDiff,
} from '../../../../scheduler/views/diff/compare-environments.ts';
import { formatDiff } from '../../../../scheduler/views/diff/format-diff.ts';
import { COMMENT_LIMIT, formatMarkdown } from '../../../../scheduler/views/diff/format-markdown.ts';

const assignment = (name: string, diff: string, more: Partial<AssignmentDiff> = {}): AssignmentDiff => ({
  assignment: name,
  outcome: 'configured',
  objects: [{ object: 'ConfigMap web/x', file: 'x.yaml', outcome: 'configured', diff }],
  unchanged: 1,
  reformatted: [],
  error: undefined,
  ...more,
});

const environment = (assignments: readonly AssignmentDiff[]): EnvironmentDiff => ({
  environment: 'dev',
  files: [],
  clusterTypes: [
    {
      clusterType: 'edge',
      outcome: assignments.length > 0 ? 'configured' : 'unchanged',
      counts: { created: 0, configured: assignments.length, deleted: 0, unchanged: 1 },
      assignments,
      images: [],
    },
  ],
  problems: [],
  unread: [],
});

const HUNK = '@@ -1,1 +1,1 @@\n-a\n+b\n';

test('formatMarkdown writes a table, and a collapsible block for each assignment', () => {
  expect(formatMarkdown([environment([assignment('shop', HUNK)])])).toBe(`### Rendered changes: dev

| cluster type | created | configured | deleted | unchanged | held | images |
| --- | ---: | ---: | ---: | ---: | --- | --- |
| edge | 0 | 1 | 0 | 1 |  |  |

<details><summary>dev: edge/shop configured, 1 object</summary>

ConfigMap web/x configured
\`\`\`diff
@@ -1,1 +1,1 @@
-a
+b
\`\`\`

</details>
`);
  expect(formatMarkdown([environment([])])).toContain('No difference.');
});

test('formatMarkdown escapes backticks, HTML and mentions', () => {
  const evil = '@@ -0,0 +1,3 @@\n+```\n+</details><script>alert(1)</script>\n+````` @everyone\n';
  const text = formatMarkdown([environment([assignment('shop`<b>@me', evil)])]);
  expect(text).toContain('\n``````diff\n');
  expect(text.match(/^``````$/gm)).toHaveLength(1);
  expect(text).toContain('shop\\`&lt;b&gt;@&#8203;me');
});

test('formatMarkdown stays within the comment limit, and counts what it omits', () => {
  const long = `@@ -0,0 +1,1000 @@\n${'+ the same line again and again\n'.repeat(1000)}`;
  const many = Array.from({ length: 60 }, (_, at) => assignment(`shop-${at}`, long));
  const text = formatMarkdown([environment(many)]);
  expect(text.length).toBeLessThanOrEqual(COMMENT_LIMIT);
  expect(text).toMatch(/^\.\.\. \d+ more lines$/m);
  expect(text).toMatch(/> \*\*Cut here:\*\* \d+ of 60 blocks are not shown/);
  // Every block that was begun is closed.
  expect(text.split('<details>').length).toBe(text.split('</details>').length);
  const types = Array.from({ length: 3000 }, (_, at) => ({
    ...(environment([assignment('shop', HUNK)]).clusterTypes[0] as EnvironmentDiff['clusterTypes'][number]),
    clusterType: `a-rather-long-cluster-type-name-${at}`,
  }));
  expect(formatMarkdown([{ ...environment([]), clusterTypes: types }]).length).toBeLessThanOrEqual(
    COMMENT_LIMIT,
  );
});

test('formatMarkdown and formatDiff print held assignments with their reason', () => {
  const error = new FleetError('TEMPLATE_FAILED', 'there is no .Nope', { at: { file: 'a.yaml', line: 3 } });
  const held = environment([assignment('shop', '', { outcome: 'held', objects: [], error })]);
  expect(formatMarkdown([held])).toContain('a.yaml:3: TEMPLATE\\_FAILED: there is no .Nope');
  expect(formatDiff([held])).toBe(`dev
  edge: 0 created, 1 configured, 0 deleted, 1 unchanged; held: shop

edge/shop is held and stays as it is: a.yaml:3: TEMPLATE_FAILED: there is no .Nope
`);
});

test('formatMarkdown prints the error of a side that cannot be read', () => {
  const broken: EnvironmentDiff = {
    ...environment([]),
    problems: [new FleetError('YAML_SYNTAX', 'it is not YAML')],
  };
  expect(formatMarkdown([broken])).toContain('- YAML\\_SYNTAX: it is not YAML');
  expect(formatDiff([broken])).toBe('dev: cannot be compared\n  YAML_SYNTAX: it is not YAML\n');
});
