import { readFile, stat } from 'node:fs/promises';
import { FleetError, toFleetError } from '#bundles/errors';
import { readTar } from '#bundles/formats/archive/read-tar';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { parseStatement } from '#bundles/trust/statements/verify-statement';
import { MAX_SUPPORT_BYTES, type VerifiedSupport, verifySupport } from '#bundles/trust/reports/support';
import type { Database } from '../store/tables.ts';
import type { SupportTarget } from './request-support.ts';
import { judgeSupport } from './take-support.ts';

/**
 * The newest stored bundle of an agent, or of the only agent of a site that has one; verified again.
 * @throws FleetError REFERENCE_MISSING, USAGE where several agents have one; STORE_CORRUPT
 */
export const readStored = async (db: Database, { site, agent }: SupportTarget): Promise<VerifiedSupport> => {
  const rows = await db
    .selectFrom('support_bundle')
    .select(['agent', 'digest'])
    .where('agent', 'like', agent === undefined ? `${site}/%` : `${site}/${agent}`)
    .orderBy('received_at', 'desc')
    .orderBy('made_at', 'desc')
    .execute();
  const [newest] = rows;
  const who = agent === undefined ? site : `${site}/${agent}`;
  if (!newest)
    throw new FleetError('REFERENCE_MISSING', `there is no support bundle of ${who}`, {
      hint: 'Ask for one: fleet-scheduler support request',
    });
  const agents = [...new Set(rows.map((row) => row.agent))];
  if (agents.length > 1)
    throw new FleetError(
      'USAGE',
      `${who} has support bundles of ${agents.length} agents: ${agents.slice(0, 5).join(', ')}`,
      {
        hint: 'Name one as <site>/<agent>',
      },
    );
  const row = await db
    .selectFrom('support_bundle')
    .selectAll()
    .where('digest', '=', newest.digest)
    .executeTakeFirstOrThrow();
  const what = `the support bundle of ${row.agent}`;
  return verifySupport(Buffer.from(row.file, 'base64'), parsePublicKey(row.key), what);
};

/**
 * A bundle in a file, which somebody sent; verified by the key of the agent that it names.
 * @throws FleetError AGENT_UNKNOWN, TOO_LARGE, UNSIGNED, PERMISSION; as judgeSupport
 */
export const readSent = async (db: Database, fleet: string, file: string): Promise<VerifiedSupport> => {
  const bytes = await readSmall(file);
  const id = await claimedAgent(bytes, file);
  const agent = await db
    .selectFrom('agent')
    .selectAll()
    .where('id', '=', id)
    .where('follower', 'is', null)
    .executeTakeFirst();
  if (!agent)
    throw new FleetError('AGENT_UNKNOWN', `${file} says it is from ${id}, which was never enrolled here`);
  return judgeSupport(bytes, agent, fleet, file);
};

const readSmall = async (file: string): Promise<Buffer> => {
  try {
    const { size } = await stat(file);
    if (size > MAX_SUPPORT_BYTES)
      throw new FleetError('TOO_LARGE', `${file} has ${size} bytes, at most ${MAX_SUPPORT_BYTES} are read`);
    return await readFile(file);
  } catch (error) {
    throw toFleetError(error, `reading ${file}`);
  }
};

/** Unverified; it only says whose key to try. */
const claimedAgent = async (bytes: Buffer, file: string): Promise<string> => {
  const items = readTar(
    (async function* () {
      yield bytes;
    })(),
    { maxEntries: 1000 },
  );
  for await (const { content } of items) {
    const first = Buffer.concat(await Array.fromAsync(content));
    const { predicate } = parseStatement(parseEnvelope(first, file).payload, file);
    const { agent } = predicate as { readonly agent?: unknown };
    if (typeof agent === 'string') return agent.slice(0, 160);
    break;
  }
  throw new FleetError('UNSIGNED', `${file} is not a support bundle`);
};
