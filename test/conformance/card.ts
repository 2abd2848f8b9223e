import { FLUX_SSA, KAPP, type OtherCases } from './cases-of-others.ts';
import { GITOPS_ENGINE, KSTATUS } from './health-of-others.ts';
import type { Line } from './lines.ts';

export const CARD = 'docs/applier.md';

/** 'holds'; 'in part': proven with an exception that `miss` names; 'missing'. */
export const standingOf = ({ tests = [], miss }: Line): 'holds' | 'in part' | 'missing' => {
  if (tests.length === 0) return 'missing';
  return miss === undefined ? 'holds' : 'in part';
};

const HEAD = `# The applier, line by line

What an applier of the first grade does on a cluster, and the tests of this repository that prove it. Each line was chosen from what Flux, cli-utils, Argo CD and kapp do, and from
reports of what went wrong there. Where verdicts on health differ from kstatus and Argo CD, [a table](kubernetes.md#when-it-is-healthy) has ours, theirs and why.

    npm run conformance            # runs these tests against real API servers and prints the lines with their results
    FLEET_LONG=1 npm run conformance   # on each version of Kubernetes that sites run

On 2026-11-30 the tests of all lines passed on Kubernetes 1.35.4 and on 1.37.2, with every kill and 200 generated worlds: 111 tests on each, and 120 that need no API server.

This page is written by \`npm run conformance -- --write\`.
`;

type Peer = { readonly name: string; readonly version: string; readonly cases: readonly OtherCases[] };

const VERDICTS = { same: 'the same', otherwise: 'otherwise', none: 'none' } as const;

/** Their tests are not run against the agent: a row says what it does in the same case, and names the lines above that show it. */
function casesOf({ name, version, cases }: Peer): readonly string[] {
  const count = (verdict: OtherCases['verdict']): number =>
    cases.filter((one) => one.verdict === verdict).length;
  return [
    `The tests of ${name} ${version} in ${cases.length} groups: ${count('same')} hold in the same way, ${count('otherwise')} otherwise, and ${count('none')} have nothing that would be compared. Their tests are not run against the agent; the lines above show what it does, and a test checks that each of theirs is in one row:`,
    '',
    '| case | agent | lines | what it does otherwise, and why |',
    '| --- | --- | --- | --- |',
    ...cases.map(
      ({ what, verdict, agent, lines }) =>
        `| ${what} | ${VERDICTS[verdict]} | ${lines.join(', ')} | ${agent} |`,
    ),
    '',
  ];
}

const OTHERS = [
  '## Cases of others',
  '',
  `gitops-engine ${GITOPS_ENGINE.version}, the engine of Argo CD, has ${GITOPS_ENGINE.cases} live objects with their health. The agent judges ${GITOPS_ENGINE.cases - GITOPS_ENGINE.differences.length} in the same way (Healthy: Current, Progressing: InProgress, Degraded: Failed), and these otherwise; a test compares:`,
  '',
  '| object | gitops-engine | agent | why |',
  '| --- | --- | --- | --- |',
  ...GITOPS_ENGINE.differences.map(
    ({ what, theirs, ours, why }) => `| ${what} | ${theirs} | ${ours} | ${why} |`,
  ),
  '',
  `kstatus ${KSTATUS.version} (sigs.k8s.io/cli-utils), by which Flux waits, has ${KSTATUS.cases} objects with their status. The agent judges ${KSTATUS.cases - KSTATUS.differences.length} in the same way, and these otherwise; a test compares:`,
  '',
  '| object | kstatus | agent | why |',
  '| --- | --- | --- | --- |',
  ...KSTATUS.differences.map(({ what, theirs, ours, why }) => `| ${what} | ${theirs} | ${ours} | ${why} |`),
  '',
  ...casesOf(FLUX_SSA),
  ...casesOf(KAPP),
];

/** The page. Verdicts are those of the list; the command has those of a run. */
export const writeCard = (lines: readonly Line[]): string => {
  const count = (standing: string): number => lines.filter((line) => standingOf(line) === standing).length;
  const rows = lines.map((line) => {
    const tests = (line.tests ?? []).map(([, title]) => title);
    return `| ${line.id} | ${line.what} | ${standingOf(line)} | ${tests.join('; ').replaceAll('|', String.raw`\|`)} | ${line.miss ?? ''} |`;
  });
  return [
    HEAD,
    `${lines.length} lines: ${count('holds')} hold, ${count('in part')} in part, ${count('missing')} missing.`,
    '',
    '| line | what | verdict | tests | what does not hold |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...OTHERS,
  ].join('\n');
};
