import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { MAX_SEALED_BYTES } from '#bundles/trust/secrets/secret-set';
import type { SiteAgent, SitePredicate } from '#bundles/formats/statements/predicates';
import { type VerifiedStatement, verifyStatement } from '#bundles/trust/statements/verify-statement';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import type { SiteRow } from '../../../../../scheduler/hub/store/tables.ts';
import {
  type SecretsSet,
  type SetSecretsRequest,
  setSecrets,
} from '../../../../../scheduler/hub/sites/secrets/set-secrets.ts';
import { ask, hubsAfter, NOW, type TestAgent, type TestHub, testAgent } from '../../test-hub.ts';

export type AgentWithAge = TestAgent & AgeIdentity;

export const PASSWORD = 'hunter2-and-nobody-else';
export const VALUES = { password: Buffer.from(PASSWORD).toString('base64') };

let sticks = 0;

/** Enrols an agent with an age identity, as its stick and the office do it; `replaceKey` where it is known already. */
export const enrolWithAge = async (
  hub: TestHub,
  id: string,
  given: { readonly agent?: TestAgent; readonly replaceKey?: boolean } = {},
): Promise<AgentWithAge> => {
  const agent = given.agent ?? testAgent(id);
  const identity = await generateAgeIdentity();
  const stick = await hub.stick(`age-${++sticks}`);
  await ask(stick, agent, { recipient: identity.recipient });
  const { refused } = await hub.enroll(stick, { replaceKey: given.replaceKey ?? false });
  if (refused[0]) throw refused[0].error;
  return { ...agent, ...identity };
};

/** A hub in which plant-7/press-1 is enrolled so already. */
export const hubWithAge = hubsAfter(async (hub) => ({ one: await enrolWithAge(hub, 'plant-7/press-1') }));

export const setIn = async (hub: TestHub, order: Partial<SetSecretsRequest> = {}): Promise<SecretsSet> =>
  setSecrets(
    hub.store,
    { site: 'plant-7', name: 'mqtt', values: VALUES, agents: undefined, escrow: undefined, ...order },
    await siteSigner(hub),
    NOW,
  );

export type ReadStatement = VerifiedStatement & { readonly predicate: SitePredicate };

export const readStatement = (hub: TestHub, { statement }: SiteRow): ReadStatement =>
  verifyStatement(
    [Buffer.from(statement)],
    hub.keys.root.roles.release,
    PREDICATES.site,
    'the statement',
  ) as ReadStatement;

export const newestStatement = async (hub: TestHub, site = 'plant-7'): Promise<ReadStatement> =>
  readStatement(
    hub,
    await hub.store.db.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirstOrThrow(),
  );

export const agentIn = ({ predicate }: ReadStatement, name: string): SiteAgent | undefined =>
  predicate.agents.find((agent) => agent.name === name);

export const digestIn = ({ subjects }: VerifiedStatement, set: string): Digest | undefined =>
  subjects.find(({ name }) => name === `secrets/${set}`)?.digest;

/** The sealed file as the layout has it. */
export const sealedIn = async (hub: TestHub, digest: Digest | undefined): Promise<Buffer> =>
  readBlob((await openLayout(hub.layout)).blobs, digest ?? 'sha256:', MAX_SEALED_BYTES);

/** Every file below a folder with its bytes. */
const everyFile = async (
  folder: string,
): Promise<readonly { readonly path: string; readonly bytes: Buffer }[]> => {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.map(async (path) => ({ path, bytes: await readFile(path) })));
};

/** Files that show a text, plain or as the set holds it. */
export const filesThatShow = async (folder: string, secret: string): Promise<readonly string[]> => {
  const shapes = [Buffer.from(secret), Buffer.from(Buffer.from(secret).toString('base64'))];
  return (await everyFile(folder))
    .filter(({ bytes }) => shapes.some((shape) => bytes.includes(shape)))
    .map(({ path }) => path);
};
