import { addDays } from '#bundles/time';
import { canonicalBytes } from '#bundles/json/canonical';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { ServerOptions } from '../../../../../scheduler/hub/http/create-server.ts';
import type { OpenValues } from '../../../../../scheduler/hub/promote/values/decide-in-repository.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import { valuesHub, type ValuesHub } from '../../promote/values/values-hub.ts';
import { type Answer, testServer, type TestServer } from '../../serve/test-server.ts';
import { ask, NOW, testAgent } from '../../test-hub.ts';

export type ValuesCaller = {
  readonly token: string;
  readonly get: (path: string) => Promise<Answer>;
  readonly post: (path: string, body: object, headers?: Record<string, string>) => Promise<Answer>;
};

/**
 * A hub with plant-7/press-1, plant-8/press-1 and press-2 of the lines a and b in the north, and plant-9/press-1 in the south, whose release takes
 * line, gate (editableBy network) and adminPassword. Paths of callers are below /v1/values/.
 */
export type ValuesServer = Omit<TestServer, 'hub' | 'reader'> & {
  readonly hub: ValuesHub;
  readonly caller: (person: string, ...allowances: readonly string[]) => Promise<ValuesCaller>;
  /** With a reader's token. */
  readonly reader: (...only: readonly string[]) => Promise<ValuesCaller>;
  /** Drafts, signs and hands over an approval. */
  readonly approve: (
    caller: ValuesCaller,
    proposal: string,
    by: { readonly person: string; readonly key: SigningKey },
  ) => Promise<Answer>;
};

const TERMS = { note: undefined, expires: addDays(NOW, 30), now: NOW };

const AGENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'plant-8/press-1': { region: 'north', line: 'a' },
  'plant-8/press-2': { region: 'north', line: 'b' },
  'plant-9/press-1': { region: 'south' },
};

export const valuesServer = async (
  review?: ValuesReview,
  { open, ...options }: Partial<ServerOptions> & { readonly open?: OpenValues } = {},
): Promise<ValuesServer> => {
  const hub = await valuesHub();
  for (const [id, labels] of Object.entries(AGENTS)) {
    const stick = await hub.stick(`enrol-${id.replace('/', '-')}`);
    await ask(stick, testAgent(id), { labels });
    await hub.enroll(stick);
  }
  const made = await testServer(
    { values: { review, readKeys: async () => hub.keys, open }, ...options },
    hub,
  );
  const send = async (
    token: string,
    method: 'GET' | 'POST',
    path: string,
    body: object | undefined,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const answer = await made.server.inject({
      method,
      url: path.startsWith('/') ? path : `/v1/values/${path}`,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body && { payload: body }),
    });
    return {
      status: answer.statusCode,
      text: answer.body,
      headers: answer.headers,
      body: answer.json<never>(),
    };
  };
  const callerWith = (token: string): ValuesCaller => ({
    token,
    get: (path) => send(token, 'GET', path, undefined),
    post: (path, body, headers) => send(token, 'POST', path, body, headers),
  });
  return {
    ...made,
    hub,
    caller: async (person, ...allowances) => {
      const order = { scope: 'decide', person, allowances: allowances.map(parseAllowance) } as const;
      return callerWith((await createToken(hub.store, order, TERMS)).token);
    },
    reader: async (...only) => {
      const allowances = only.length === 0 ? undefined : only.map((place) => parseAllowance(`read:${place}`));
      return callerWith((await createToken(hub.store, { scope: 'reader', allowances }, TERMS)).token);
    },
    approve: async (caller, proposal, { person, key }) => {
      const draft = await caller.get(`approval?proposal=${proposal}&person=${person}&reason=checked`);
      if (draft.status !== 200) return draft;
      const signed = await signPayload(canonicalBytes(draft.body), key);
      return caller.post('approvals', { statement: JSON.parse(signed.toString()) as object });
    },
  };
};
