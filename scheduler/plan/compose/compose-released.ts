import type { ComposeReleased } from '../../keys/signer/compose-released.ts';
import { decodeSiteLayers, type ReleasedLayers } from '../../load/releases/site-layers-document.ts';
import { createChannelComposer } from './channel-composer.ts';
import { tieError } from './compose-site.ts';
import { layeredAgent } from './layered-agent.ts';
import { unreadLayers } from './unread-layers.ts';

/** Composes values for a signer process as the hub does. Channels of one environment share the decoded layers. */
export const createComposeReleased = (): ComposeReleased => {
  const decoded = new WeakMap<Buffer, ReleasedLayers>();
  const decode = (bytes: Buffer, what: string): ReleasedLayers => {
    const found = decoded.get(bytes) ?? decodeSiteLayers(bytes, what);
    decoded.set(bytes, found);
    return found;
  };
  return ({ clusterType, configs, layers, what }) => {
    const released = layers && decode(layers, what);
    const { compose } = createChannelComposer(clusterType, configs, released);
    return (agent) => {
      const layered = layeredAgent(agent, released);
      const { whole, assignments, document } = compose(layered);
      const ties = [whole, ...assignments.values()].flatMap((part) => part.ties);
      return {
        composed: document,
        held: [
          ...unreadLayers(layered, released),
          ...ties.map((tie) => tieError(tie, `${agent.site}/${agent.name}`)),
        ],
      };
    };
  };
};
