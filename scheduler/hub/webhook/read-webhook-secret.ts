import { FleetError } from '#bundles/errors';
import { readSecretLine } from './read-secret-line.ts';

/** Minimum length: a guessed secret would allow triggering any number of repository checks. */
const MIN_LENGTH = 16;

/** The first line of webhookSecretFile, read for each webhook so that it can change. @throws FleetError as readSecretLine; CONFIG_INVALID */
export const readWebhookSecret = async (file: string): Promise<string> => {
  const secret = await readSecretLine(file, 'a webhook secret');
  if (secret.length >= MIN_LENGTH) return secret;
  throw new FleetError('CONFIG_INVALID', `the webhook secret has ${secret.length} characters`, {
    at: { file, line: 1 },
    hint: `Take at least ${MIN_LENGTH} random ones`,
  });
};
