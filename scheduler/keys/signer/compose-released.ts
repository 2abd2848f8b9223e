import type { FleetError } from '#bundles/errors';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { ComposedValues } from '#bundles/formats/statements/predicates';

/** Content that the values of a channel's agents follow from: the configurations of its bundles, and the layers that their statements name. */
export type ReleasedContent = {
  readonly clusterType: string;
  readonly configs: readonly BundleConfig[];
  /** The document of the layers; undefined: the statements name none. */
  readonly layers: Buffer | undefined;
  /** For messages: 'the layers of prod/kiosk'. */
  readonly what: string;
};

/** An agent of a site statement. */
export type ComposedAgent = {
  readonly site: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
};

/** The composed values of an agent. */
export type AgentValues = {
  readonly composed: ComposedValues | undefined;
  /** Why a hub keeps the values that the agent has: layers that tie, or that could not be read. Empty: it uses the composed ones. */
  readonly held: readonly FleetError[];
};

/**
 * Composes values from released content. Passed into the signer, because composing belongs to a later phase.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA for the layers
 */
export type ComposeReleased = (content: ReleasedContent) => (agent: ComposedAgent) => AgentValues;
