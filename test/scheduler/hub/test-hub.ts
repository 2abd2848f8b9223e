import { rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import { agentFolder, RECEIPTS_FOLDER, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import type { Channel } from '#bundles/names';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { type SignedReport, signReport } from '#bundles/trust/reports/report';
import { signRecipient } from '#bundles/trust/age/recipient';
import type { ReceiptPredicate, ReportPredicate } from '#bundles/formats/statements/predicates';
import { addDays, formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { type HostFacts, signFacts } from '#bundles/trust/root/host-facts';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signRequest } from '#bundles/trust/root/sign-request';
import { type EnrolmentChoice, enrollMedium } from '../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import type { EnrolmentOptions } from '../../../scheduler/hub/sites/enroll/plan-enrolment.ts';
import { readRequests, requestPath } from '../../../scheduler/hub/sites/enroll/read-requests.ts';
import type { Hub } from '../../../scheduler/hub/hub.ts';
import { importReports } from '../../../scheduler/hub/ingest/reports/import-reports.ts';
import { openStore, type StoreOptions } from '../../../scheduler/hub/store/open-store.ts';
import type { Database } from '../../../scheduler/hub/store/tables.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { type FolderTemplate, readTemplate, writeTemplate } from '../../harness/fleets/folder-template.ts';
import { newSigningKey, type SignedFleet } from '../../harness/fleets/signed-fleet.ts';
import { type LayoutWriter, writeSignedLayout } from '../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { databaseAt, dropDatabase, oncePerServer } from './test-database.ts';

/** A hub with real keys, a real database and real media in a folder of its own. */
export const NOW = new Date('2026-11-21T08:00:00Z');
export const FLEET = 'acme';
export const HOSTS: Channel = { environment: 'prod', clusterType: 'factory-host' };

export type TestHub = Hub & {
  readonly path: string;
  /** The database, as --db names it. */
  readonly db: string;
  readonly layoutWriter: LayoutWriter;
  readonly signedFleet: SignedFleet;
  /** A fresh folder: the stick. */
  readonly stick: (name?: string) => Promise<string>;
  /** Every fingerprint on the stick is accepted by its name, unless said. */
  readonly enroll: (
    stick: string,
    options?: Partial<EnrolmentOptions & EnrolmentChoice>,
  ) => ReturnType<typeof enrollMedium>;
  readonly importFrom: (stick: string, now?: Date) => ReturnType<typeof importReports>;
};

type Template = { readonly files: FolderTemplate; readonly db: string };

const makeEmpty = async (): Promise<Template> => {
  await using folder = await temporaryDirectory('hub-template');
  await initDevRoot(join(folder.path, 'keys'), FLEET, NOW);
  const db = await databaseAt(join(folder.path, 'hub.db'));
  await (await openStore(db, FLEET))[Symbol.asyncDispose]();
  return { files: await readTemplate(folder.path), db };
};

/** Keys and an empty database take a dozen synced writes, and there are many tests: made once, then copied. */
const empty = oncePerServer(makeEmpty);

export const testHub = async (options: StoreOptions = {}): Promise<TestHub> =>
  openHub(await empty(), options);

const openHub = async (template: Template, options: StoreOptions = {}): Promise<TestHub> => {
  const folder = await temporaryDirectory('hub');
  const path = folder.path;
  writeTemplate(template.files, path);
  const keys = await openKeyDirectory(join(path, 'keys'));
  const db = await databaseAt(join(path, 'hub.db'), template.db);
  const store = await openStore(db, FLEET, options);
  const layout = join(path, 'layout');
  const signedFleet: SignedFleet = {
    fleet: FLEET,
    keys: {
      root: await keys.key('root'),
      bundle: await keys.key('bundle'),
      release: await keys.key('release'),
      lease: await keys.key('lease'),
      receipt: await keys.key('receipt'),
      audit: await keys.key('audit'),
    },
    roots: keys.roots.map(({ bytes }) => bytes),
  };
  const hub: Hub = { keys, store, layout, [Symbol.asyncDispose]: async () => {} };
  return {
    ...hub,
    path,
    db,
    signedFleet,
    layoutWriter: writeSignedLayout(signedFleet, layout),
    stick: async (name = 'stick') => {
      await mkdir(join(path, name), { recursive: true });
      return join(path, name);
    },
    enroll: async (stick, given = {}) => {
      await using medium = await openMedium(stick);
      const all = await readRequests(medium, FLEET, []);
      const accept = all
        .filter(({ site }) => site === (given.site ?? site))
        .map(({ fingerprint }) => ({ fingerprint }));
      return await enrollMedium(hub, medium, { accept, replaceKey: false, update: false, ...given }, NOW);
    },
    importFrom: async (stick, now = NOW) => {
      await using medium = await openMedium(stick);
      return await importReports(hub, medium, now);
    },
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await dropDatabase(db);
      await folder[Symbol.asyncDispose]();
    },
  };
};

export type TestAgent = {
  readonly site: string;
  readonly name: string;
  readonly id: string;
  readonly key: SigningKey;
};

export const testAgent = (id: string, key = newSigningKey()): TestAgent => {
  const [site = '', name = ''] = id.split('/');
  return { site, name, id, key };
};

export type RequestChanges = {
  readonly fleet?: string;
  readonly channel?: Channel;
  readonly labels?: Readonly<Record<string, string>>;
  readonly request?: string;
  readonly path?: string;
  readonly recipient?: string;
  readonly at?: string;
  /** Instead of the agent's own. */
  readonly recipientSignature?: string;
  readonly facts?: HostFacts;
  /** Instead of the agent's own. */
  readonly factsSignature?: string;
  /** Proven, as fleet-agent enroll does it. */
  readonly token?: string;
  /** As an agent of an earlier version wrote it: unsigned, and with its token in clear text. */
  readonly old?: boolean;
  /** Fields that somebody changed on the way. */
  readonly changed?: object;
};

/** Leaves the request of an agent on a stick, as fleet-agent enroll does. */
export const ask = async (stick: string, agent: TestAgent, changes: RequestChanges = {}): Promise<string> => {
  const fleet = changes.fleet ?? FLEET;
  const path = changes.path ?? requestPath(agent.id);
  const request =
    changes.request ??
    (await createCertificateRequest({ fleet, site: agent.site, agent: agent.name }, agent.key));
  const fields = {
    fleet,
    site: agent.site,
    agent: agent.name,
    channel: changes.channel ?? HOSTS,
    labels: changes.labels ?? {},
    request,
    ...(await recipientOf(fleet, agent, changes)),
    ...(await factsOf(fleet, agent, changes)),
    at: changes.at ?? formatTime(NOW),
  };
  const { token, old = false, changed } = changes;
  const asked = old
    ? { ...fields, ...(token !== undefined && { token }) }
    : await signRequest(fields, agent.key, token);
  await put(stick, path, canonicalBytes({ ...asked, ...changed }));
  return path;
};

const recipientOf = async (
  fleet: string,
  { site, name, key }: TestAgent,
  { recipient, recipientSignature, at = formatTime(NOW) }: RequestChanges,
): Promise<{ readonly recipient?: string; readonly recipientSignature?: string }> =>
  recipient === undefined
    ? {}
    : {
        recipient,
        recipientSignature:
          recipientSignature ?? (await signRecipient({ fleet, site, agent: name, recipient, at }, key)),
      };

const factsOf = async (
  fleet: string,
  { site, name, key }: TestAgent,
  { facts, factsSignature, at = formatTime(NOW) }: RequestChanges,
): Promise<object> =>
  facts === undefined
    ? {}
    : {
        facts,
        factsSignature: factsSignature ?? (await signFacts({ fleet, site, agent: name, facts, at }, key)),
        factsAt: at,
      };

export const put = async (stick: string, path: string, bytes: Uint8Array): Promise<void> => {
  await mkdir(dirname(join(stick, path)), { recursive: true });
  await writeFile(join(stick, path), bytes);
};

/** What happened, without the fields that follow from its place in the chain. */
export type Happening = Partial<Event> & { readonly type: string };

export const digest = (digit: string): Digest => `sha256:${digit.repeat(64)}`;

/** A package that an agent applied; its release has the number of its digest. */
export const applied = (assignment: string, digit: string, more: Partial<Happening> = {}): Happening => ({
  type: 'package',
  assignment,
  package: digest(digit),
  siteValues: digest('9'),
  release: { ...HOSTS, version: Number(digit) },
  outcome: 'configured',
  ...more,
});

export const count = async (db: Database, table: 'event' | 'alarm' | 'report'): Promise<number> =>
  (await db.selectFrom(table).selectAll().execute()).length;

/** Lines of an unbroken chain; `from` and `prev` continue another one. */
export const chain = (
  agent: TestAgent,
  happenings: readonly Happening[],
  from = 1,
  prev: Digest = GENESIS,
): readonly string[] => {
  const lines: string[] = [];
  let last = prev;
  for (const [index, happening] of happenings.entries()) {
    const line = encodeEvent({
      agent: agent.id,
      seq: from + index,
      prev: last,
      bootId: 'boot-1',
      at: formatTime(addDays(NOW, -1)),
      monotonicMs: (from + index) * 1000,
      ...happening,
    });
    lines.push(line);
    last = hashLine(line);
  }
  return lines;
};

/** A report of some of a chain's events, `from` and `to` included, as event numbers of a chain that begins at 1. */
export const reportOf = (
  agent: TestAgent,
  lines: readonly string[],
  from = 1,
  to = lines.length,
  changes: Partial<ReportPredicate> = {},
): Promise<SignedReport> => {
  const part = lines.slice(from - 1, to);
  const before = lines[from - 2];
  const predicate: ReportPredicate = {
    fleet: FLEET,
    agent: agent.id,
    from,
    to,
    firstPrev: before === undefined ? GENESIS : hashLine(before),
    lastHash: hashLine(part.at(-1) ?? ''),
    bootId: 'boot-1',
    time: formatTime(NOW),
    clockTrusted: true,
    floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(addDays(NOW, -1)) },
    holds: [],
    ...changes,
  };
  return signReport(Buffer.from(part.map((line) => `${line}\n`).join('')), predicate, agent.key);
};

const twelve = (seq: number): string => String(seq).padStart(12, '0');

/** Leaves a report on a stick under an agent's folder. @returns its path without endings */
export const leave = async (
  stick: string,
  agent: TestAgent,
  report: SignedReport,
  from: number,
  to: number,
  suffix = '',
): Promise<string> => {
  const path = `${REPORTS_FOLDER}/${agentFolder(agent.id)}/${twelve(from)}-${twelve(to)}${suffix}`;
  await put(stick, `${path}.ndjson`, report.events);
  await put(stick, `${path}.sigstore.json`, report.statement);
  return path;
};

/** Makes the report and leaves it. */
export const report = async (
  stick: string,
  agent: TestAgent,
  lines: readonly string[],
  from = 1,
  to = lines.length,
  changes: Partial<ReportPredicate> = {},
): Promise<string> => leave(stick, agent, await reportOf(agent, lines, from, to, changes), from, to);

/** The receipt on a stick as its agent would read it, or undefined. */
export const receiptOn = async (
  stick: string,
  hub: Hub,
  agent: TestAgent,
): Promise<ReceiptPredicate | undefined> => {
  const file = join(stick, RECEIPTS_FOLDER, `${agentFolder(agent.id)}.sigstore.json`);
  const bytes = await readFile(file).catch(() => undefined);
  return bytes && verifyReceipt(bytes, hub.keys.root, agent.id);
};

/** An enrolled agent and an empty stick. */
export const enrolled = async (hub: TestHub, id: string, channel = HOSTS): Promise<TestAgent> => {
  const agent = testAgent(id);
  const stick = await hub.stick(`enrol-${id.replace('/', '-')}`);
  await ask(stick, agent, { channel });
  await hub.enroll(stick);
  return agent;
};

/** Hubs in which something was done already, and what came of it: done once, then copied. */
export const hubsAfter = <T extends object>(
  work: (hub: TestHub) => Promise<T>,
): (() => Promise<TestHub & T>) => {
  const make = async (): Promise<{ readonly made: T; readonly template: Template }> => {
    const hub = await testHub();
    const made = await work(hub);
    // Closed first: then all of the database is in its one file.
    await hub.store[Symbol.asyncDispose]();
    const template = { files: await readTemplate(hub.path), db: hub.db };
    rmSync(hub.path, { recursive: true });
    return { made, template };
  };
  const first = oncePerServer(make);
  return async () => {
    const { made, template } = await first();
    return { ...(await openHub(template)), ...made };
  };
};

/** A hub that knows the agent plant-7/press-1 already. */
export const enrolledHub = hubsAfter(async (hub) => ({ agent: await enrolled(hub, 'plant-7/press-1') }));

export const happenings = (count: number): readonly Happening[] =>
  Array.from({ length: count }, (_, index) => ({ type: 'operator', message: `step ${index + 1}` }));
