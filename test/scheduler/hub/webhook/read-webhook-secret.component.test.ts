import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readWebhookSecret } from '../../../../scheduler/hub/webhook/read-webhook-secret.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('the webhook secret is the first line of its file; a short one and a file that is not text are refused', async () => {
  await using folder = await temporaryDirectory('secret');
  const file = join(folder.path, 'secret');
  await expect(readWebhookSecret(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID', at: { file } });
  await writeFile(file, 'hunter2\n');
  await expect(readWebhookSecret(file)).rejects.toMatchObject({ code: 'CONFIG_INVALID', at: { line: 1 } });
  for (const bytes of [Buffer.alloc(64, 0x83), Buffer.alloc(64), Buffer.from('0123456789abcdef\t')]) {
    await writeFile(file, bytes);
    await expect(readWebhookSecret(file)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'the first line is not text, it should be a secret',
    });
  }
  await writeFile(file, '0123456789abcdef\r\nnotes\n');
  expect(await readWebhookSecret(file)).toBe('0123456789abcdef');
});
