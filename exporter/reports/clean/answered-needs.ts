import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import {
  agentFolder,
  type OpenMedium,
  REPORTS_FOLDER,
  REQUESTS_FOLDER,
} from '#bundles/formats/medium/medium';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { Timestamp } from '#bundles/time';
import { parseAs } from '#bundles/json/parse-as';
import { NEEDS } from '#bundles/json/schema/validators';
import { newestReports } from '../../source/base/read-bases.ts';
import { type AgentReport, readReport } from '../../source/base/report-base.ts';
import type { AgentsOf } from '../../source/base/site-agents.ts';

type Needs = { readonly agent: string; readonly missing: readonly Digest[]; readonly at: Timestamp };

const MAX_BYTES = 16 << 20;

/**
 * Paths of answered needs: the agent has reported, signed and later, that a bundle of this medium which contains all the blobs is complete
 * there. It is not enough that the medium has the blobs, because it may not have been imported yet.
 */
export const answeredNeeds = async (medium: OpenMedium, agentsOf: AgentsOf): Promise<readonly string[]> => {
  const answered: string[] = [];
  for (const path of await medium.files(REQUESTS_FOLDER)) {
    const needs = path.endsWith('-needs.json') ? await readOne(medium, path) : undefined;
    if (!needs || path !== `${REQUESTS_FOLDER}/${agentFolder(needs.agent)}-needs.json`) continue;
    const report = await newestReport(medium, needs.agent, agentsOf);
    if (!report || report.report.time <= needs.at) continue;
    const held = await heldBlobs(medium, report.report.holds);
    if (needs.missing.every((digest) => held.has(digest))) answered.push(path);
  }
  return answered;
};

const readOne = async (medium: OpenMedium, path: string): Promise<Needs | undefined> => {
  try {
    const json = parseStrictJson(await medium.readFile(path, MAX_BYTES), { maxBytes: MAX_BYTES }, path);
    return parseAs(NEEDS, json, path);
  } catch (error) {
    if (isFleetError(error) && error.exitCode !== 6) return undefined;
    throw error;
  }
};

const newestReport = async (
  medium: OpenMedium,
  agent: string,
  agentsOf: AgentsOf,
): Promise<AgentReport | undefined> => {
  const folder = `${REPORTS_FOLDER}/${agentFolder(agent)}`;
  const found: AgentReport[] = [];
  for (const path of await medium.files(folder)) {
    if (!path.endsWith('.sigstore.json')) continue;
    try {
      found.push(await readReport(agentsOf, await medium.readFile(path, MAX_STATEMENT_BYTES), path));
    } catch (error) {
      if (!isFleetError(error) || error.exitCode === 6) throw error;
    }
  }
  return newestReports(found).find(({ name }) => name === agent);
};

const heldBlobs = async (
  { medium, blobs }: OpenMedium,
  holds: readonly Digest[],
): Promise<ReadonlySet<Digest>> => {
  const held = new Set<Digest>();
  for (const { digest } of medium?.bundles ?? []) {
    if (!holds.includes(digest)) continue;
    try {
      for (const blob of await closureBlobs(blobs, await readBundle(blobs, digest))) held.add(blob.digest);
    } catch (error) {
      if (!isFleetError(error) || error.exitCode === 6) throw error;
    }
  }
  return held;
};
