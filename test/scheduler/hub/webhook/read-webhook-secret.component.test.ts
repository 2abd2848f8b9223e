import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readWebhookSecret } from '../../../../scheduler/hub/webhook/read-webhook-secret.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('the webhook secret is the first line of its file, and a short one is refused', async () => {
  await using folder = await temporaryDirectory('secret');
  const file = join(folder.path, 'secret');
  await expect(readWebhookSecret(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID', at: { file } });
  await writeFile(file, 'hunter2\n');
  await expect(readWebhookSecret(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID', at: { line: 1 } });
  await writeFile(file, '0123456789abcdef\r\nnotes\n');
  expect(await readWebhookSecret(file)).toBe('0123456789abcdef');
});
