import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import type { HubAccess } from '#bundles/transport/hub/ask-hub';

/** Flags of the hub at which the medium is recorded. */
export const HUB_FLAGS = {
  hub: Flags.string({
    description:
      'Address of the hub, https://host[:port], at which the medium is recorded as on its way once it is written',
    env: 'FLEET_EXPORT_HUB',
  }),
  'hub-token-file': Flags.string({
    description:
      'File with the token for that: fleet-scheduler tokens create --person <name> --allow record:<environment>',
    env: 'FLEET_EXPORT_HUB_TOKEN_FILE',
  }),
};

type HubFlags = {
  readonly hub?: string | undefined;
  readonly 'hub-token-file'?: string | undefined;
};

/** @returns undefined: no hub is named @throws FleetError USAGE, CONFIG_INVALID, PERMISSION, IO */
export const hubOf = async ({
  hub,
  'hub-token-file': file,
}: HubFlags): Promise<Pick<HubAccess, 'url' | 'token'> | undefined> => {
  if (hub === undefined || hub === '') return undefined;
  if (!URL.canParse(hub) || new URL(hub).protocol !== 'https:')
    throw new FleetError(
      'USAGE',
      `--hub is an address like https://hub.example:8443, not ${JSON.stringify(hub)}`,
    );
  if (file === undefined || file === '')
    throw new FleetError('USAGE', '--hub-token-file is missing: the hub takes a record only with a token', {
      hint: 'Create one with fleet-scheduler tokens create --person <name> --allow record:<environment>',
    });
  const token = (await readGivenFile(file)).trim();
  // Checked here, because an error about the header would name the token.
  if (!/^[!-~]+$/.test(token))
    throw new FleetError('CONFIG_INVALID', 'the file is not one line with a token', {
      at: { file },
      hint: 'Write only the standard output of fleet-scheduler tokens create into it',
    });
  return { url: new URL(hub).origin, token };
};
