import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { openRemoteLayers } from '../../../keys/remote/remote-key.ts';
import type { Hub } from '../../hub.ts';
import type { ReleasedChannelLayers } from './read-channel-layers.ts';

/**
 * Shows a signer process what the values of some channels' agents are composed from, so that it composes them, too. Nothing is to be done
 * for a key of this machine, and a signer without a rule for values, or of before, needs none of it.
 * @returns the refusals by formatChannel: of another release or statement than the newest that the signer knows, and of what is missing
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
