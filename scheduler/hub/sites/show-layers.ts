import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { openRemoteLayers } from '../../keys/remote/remote-key.ts';
import type { Hub } from '../hub.ts';
import type { ReleasedChannelLayers } from './read-channel-layers.ts';

/**
 * Sends the signer process the documents and layers from which the hub composed the values of agents, so that the signer composes the
 * same values before it signs them. Does nothing where the release key is on this machine. A signer that has no rule for values, or that
 * is too old to ask for layers, is sent nothing more.
 * @returns the refusal of each channel, by formatChannel: the signer knows a newer release or statement, or a document or layer is missing
 * @throws FleetError SIGNER_UNREACHABLE, PERMISSION
 */
export const showLayers = async (
  { keys }: Pick<Hub, 'keys'>,
  channels: readonly ReleasedChannelLayers[],
): Promise<ReadonlyMap<string, FleetError>> => {
  const refused = new Map<string, FleetError>();
  const socket = channels.length === 0 ? undefined : keys.signerOf('release');
  if (socket === undefined) return refused;
  const show = await openRemoteLayers(socket);
  for (const { channel, readEvidence } of channels) {
    try {
      const { documents, layers } = await readEvidence();
      const wanted = await show({ documents: documents.map(toBase64) });
      if (wanted !== null && layers) await show({ layers: toBase64(layers) });
    } catch (error) {
      if (isFleetError(error, 'USAGE')) break;
      if (isFleetError(error, 'SIGNER_UNREACHABLE') || isFleetError(error, 'PERMISSION')) throw error;
      refused.set(formatChannel(channel), toFleetError(error, 'showing the signer the layers'));
    }
  }
  return refused;
};

const toBase64 = (bytes: Buffer): string => bytes.toString('base64');
