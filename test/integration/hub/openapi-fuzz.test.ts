import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join as joinPath } from 'node:path';
import { expect, test } from 'vitest';
import { addDays } from '#bundles/time';
import type { HubServer } from '../../../scheduler/hub/http/hub-server.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { decisionServer, WITH_SIGN_IN } from '../../scheduler/hub/http/decisions/decision-server.ts';
import { hand, join, testServer } from '../../scheduler/hub/serve/test-server.ts';
import { chain, reportOf, testAgent } from '../../scheduler/hub/test-hub.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';

const DOCUMENT = joinPath(import.meta.dirname, '../../../docs/openapi.json');
const VERBS = [
  'promote',
  'approve',
  'reject',
  'pause',
  'resume',
  'rollback',
  'rollout',
  'record',
  'wait',
  'author',
  'alarms',
];

/** What an answer is judged by. Whether a request was refused is the hub's affair: the document says less than its rules. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];

/** How much is tried: one case of each operation, or all phases of Schemathesis again and again until the time is over. */
const EXTENT = LONG ? ['--max-examples=1000', '--max-time=600'] : ['--max-examples=1', '--phases=fuzzing'];

const PARAMETERS = '[parameters]\nenvironment = "prod"\n';

const OPTIONS = {
  people: WITH_SIGN_IN,
  hooks: { verify: async () => {}, wake: () => {} },
  checks: { take: async () => {} },
  // The limit of an agent would refuse most requests unread.
  agentQuota: { requestsPerMinute: 1_000_000, bytesPerMinute: 1 << 30 },
};

type Target = AsyncDisposable & {
  readonly server: HubServer;
  readonly reader: string;
  readonly headers: readonly string[];
};

/** All routes but those of decisions, with the token of a reader and the certificate of an agent that has reported. */
const openHub = async (): Promise<Target> => {
  const made = await testServer(OPTIONS);
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  const applied = { type: 'package', assignment: 'gateway', outcome: 'created' } as const;
  const lines = chain(agent, [{ ...applied, package: `sha256:${'a'.repeat(64)}` }]);
  await hand(made, await reportOf(agent, lines), certificate);
  const reader = await made.reader();
  return {
    server: made.server,
    reader,
    headers: [
      `Authorization: Bearer ${reader}`,
      `x-test-certificate: ${Buffer.from(certificate).toString('base64')}`,
    ],
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
};

/** Decisions about a fleet whose prod is promoted from qa, by a person who may decide everything. */
const openDecisions = async (): Promise<Target> => {
  const made = await decisionServer(OPTIONS);
  const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
  const { token: reader } = await createToken(made.store, { scope: 'reader' }, terms);
  const allowances = VERBS.map((verb) => parseAllowance(`${verb}:*`));
  const { token } = await createToken(made.store, { scope: 'decide', person: 'mara', allowances }, terms);
  return {
    server: made.server,
    reader,
    headers: [`Authorization: Bearer ${token}`],
    [Symbol.asyncDispose]: () => made[Symbol.asyncDispose](),
  };
};

/** Answers by status, as the hub counts them. */
const answersOf = async (url: string, reader: string): Promise<ReadonlyMap<string, number>> => {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${reader}` } });
  const counts = new Map<string, number>();
  for (const [, code = '', count] of (await answer.text()).matchAll(
    /^fleet_hub_requests_total\{.*code="(\d+)"\} (\d+)$/gm,
  ))
    counts.set(code, (counts.get(code) ?? 0) + Number(count));
  return counts;
};

describeWith(['schemathesis'], 'the API under requests that its document describes', ({ schemathesis }) => {
  test.each([
    // A stream of events has no end that Schemathesis could wait for: change-stream.integration.test.ts reads it.
    ['for agents and readers', openHub, '^/(?!v1/environments|v1/changes|v1/platform)'],
    ['for decisions', openDecisions, '^/v1/(?:environments|platform)'],
  ] as const)(
    '%s answers as documented, and never with a server error',
    async (_what, open, paths) => {
      await using target = await open();
      await target.server.listen({ host: '127.0.0.1', port: 0 });
      const url = `http://127.0.0.1:${(target.server.server.address() as AddressInfo).port}`;
      await using folder = await temporaryDirectory('schemathesis');
      // Names of this fleet, or no request would get beyond them.
      await writeFile(joinPath(folder.path, 'schemathesis.toml'), PARAMETERS);
      const { code, stdout, stderr } = await runCommand(
        [
          schemathesis,
          'run',
          DOCUMENT,
          `--url=${url}`,
          ...target.headers.map((header) => `--header=${header}`),
          `--include-path-regex=${paths}`,
          `--checks=${CHECKS.join(',')}`,
          ...EXTENT,
          '--seed=1',
          '--no-color',
        ],
        { cwd: folder.path },
      );
      expect(code, stdout + stderr).toBe(0);
      const answers = await answersOf(url, target.reader);
      expect([...answers].filter(([status]) => status.startsWith('5'))).toEqual([]);
      expect(stdout).toMatch(/ Selected: (\d+)\/\d+\n +Tested: \1\n/);
    },
    900_000,
  );
});
