import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';
import type { AgentValues, ComposedAgent, ComposeReleased } from '../compose-released.ts';
import type { SignerState } from '../state/open-state.ts';
import { checkCurrent } from './check-current.ts';
import { type Basis, type BasisParts, hiddenNames, readBasis, readPastHidden } from './read-basis.ts';

/** The layers that were shown to a signer, and the values that follow from them. In memory only: the hub shows them each time. */
export type ShownLayers = {
  /**
   * Takes the documents of the release of one channel. @returns the digest of the layers that its statements name; undefined: none
   * @throws FleetError as readBasis
   */
  readonly takeRelease: (documents: readonly Buffer[]) => Digest | undefined;
  /** Remembers what a release hides that may be an older one. @throws FleetError as readPastHidden */
  readonly takePast: (documents: readonly Buffer[]) => void;
  /** Takes the layers that such a release names. @throws FleetError SIGNER_REFUSED for others */
  readonly takeLayers: (bytes: Buffer) => void;
  /** @throws FleetError SIGNER_REFUSED if the layers of the channel were not shown, or are not of its newest release any more; SCHEMA */
  readonly compose: (channel: Channel, agent: ComposedAgent) => AgentValues;
  /** Schemas of site inputs in the release of a channel; empty if it was not shown. */
  readonly inputSchemas: (channel: Channel) => readonly unknown[];
  /** Names of values that some shown release of the channel hid. */
  readonly hiddenBefore: (channel: Channel) => ReadonlySet<string>;
};

type Known = Basis & { composer?: (agent: ComposedAgent) => AgentValues };

export const createShownLayers = (
  composeReleased: ComposeReleased,
  parts: Pick<BasisParts, 'root' | 'roots'> & { readonly state: SignerState },
): ShownLayers => {
  const { state } = parts;
  const channels = new Map<string, Known>();
  const documents = new Map<Digest, Buffer>();
  return {
    takeRelease: (shown) => {
      const basis = readBasis(shown, parts);
      state.commit(() => {
        state.setLayersOf(basis.channel, basis.version);
        for (const { digest, builtAt } of basis.bundles) state.setStatedAt(basis.channel, digest, builtAt);
        state.addHidden(basis.channel, hiddenNames(basis.bundles.map(({ config }) => config)));
      });
      channels.set(basis.channel, basis);
      const named = new Set([...channels.values()].map(({ layers }) => layers));
      for (const digest of documents.keys()) if (!named.has(digest)) documents.delete(digest);
      return basis.layers;
    },
    takePast: (shown) => {
      const { channel, names } = readPastHidden(shown, parts);
      state.commit(() => state.addHidden(channel, names));
    },
    hiddenBefore: (channel) => state.hiddenBy(formatChannel(channel)),
    takeLayers: (bytes) => {
      const digest = digestOf(bytes);
      if (![...channels.values()].some(({ layers }) => layers === digest))
        throw new FleetError(
          'SIGNER_REFUSED',
          `no release that was shown names the layers ${shortDigest(digest)}`,
          { subject: digest },
        );
      if (!documents.has(digest)) documents.set(digest, bytes);
    },
    inputSchemas: (channel) =>
      channels.get(formatChannel(channel))?.bundles.map(({ config }) => config.siteInputs.schema) ?? [],
    compose: (channel, agent) => {
      const name = formatChannel(channel);
      const what = `the layers of ${name}`;
      const known = channels.get(name);
      const layers = known?.layers && documents.get(known.layers);
      if (!known || (known.layers && !layers))
        throw new FleetError('SIGNER_REFUSED', `${what} were not shown to this signer`, {
          hint: 'Run fleet-scheduler sites compose of this version',
        });
      checkCurrent(known, state.signed(`release:${name}`));
      const configs = known.bundles.map(({ config }) => config);
      known.composer ??= composeReleased({ clusterType: channel.clusterType, configs, layers, what });
      return known.composer(agent);
    },
  };
};
