import type { Digest } from '#bundles/digest';
import { isRecord } from '#bundles/is-record';
import { parseJson } from '#bundles/json/parse-json';
import type { Json } from '#bundles/json/canonical';

/** One value that is to change; `agent` null: of the site. An absent `old` or `new`: no value. */
export type ProposedValue = {
  readonly site: string;
  readonly agent: string | null;
  readonly name: string;
  readonly old?: Json;
  readonly new?: Json;
  /** A person at the site set it there: the agent and the edit that the decision answers. */
  readonly local?: { readonly agent: string; readonly edit: Digest };
};

/** A change of values that waits for review. Its canonical JSON is what approvals name by digest. */
export type ProposedValues = {
  readonly fleet: string;
  readonly person: string;
  readonly reason: string | null;
  readonly time: string;
  /** Names that no release asks for are meant. */
  readonly allowUnknown?: boolean;
  readonly changes: readonly ProposedValue[];
};

/** undefined for bytes that are no proposal. */
export const readProposal = (bytes: Buffer | string): ProposedValues | undefined => {
  try {
    const read = parseJson(bytes.toString()) as ProposedValues;
    const isProposal =
      isRecord(read) &&
      [read.fleet, read.person, read.time].every((one) => typeof one === 'string') &&
      Array.isArray(read.changes) &&
      read.changes.every(
        (one: unknown) => isRecord(one) && typeof one['site'] === 'string' && typeof one['name'] === 'string',
      );
    return isProposal ? read : undefined;
  } catch {
    return undefined;
  }
};

/** The entry of a proposal about one value. */
export const proposedValue = (
  { changes }: ProposedValues,
  site: string,
  agent: string | undefined,
  name: string,
): ProposedValue | undefined =>
  changes.find((one) => one.site === site && one.agent === (agent ?? null) && one.name === name);
