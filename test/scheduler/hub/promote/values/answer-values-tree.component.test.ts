import { expect, test } from 'vitest';
import { answerValuesTree } from '../../../../../scheduler/hub/promote/values/answer-values-tree.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { ours } from '../../../fleet-platform.ts';
import { config, LAYERS, layeredHub } from '../../sites/layers/layered-hub.ts';

const PACKAGE = ours(
  'HostPackage',
  'files',
  `spec:
  files: [{path: /etc/labels/line.env, format: env, content: "GATEWAY=none\\nWIFI=none\\n"}]
  siteInputs:
    - {name: gatewayHost, schema: {type: string}, default: none, file: /etc/labels/line.env, pointer: /GATEWAY}
    - {name: wifi, schema: {type: string, writeOnly: true}, default: none, file: /etc/labels/line.env, pointer: /WIFI}
`,
);

test('a layer is shown without the text of values that the schema of a release hides', async () => {
  const hub = await layeredHub({
    'apps/labels/host/package.yaml': PACKAGE,
    [LAYERS]: config('company', 'siteSelector: {}\n  values: {gatewayHost: gate, wifi: hunter2}'),
  });
  await hub.enrol('plant-1/edge');
  const asked = { allowances: [parseAllowance('values:*')], select: {} };
  const answer = await answerValuesTree(hub, asked, { limit: 10, cursor: undefined });
  expect(answer.layers).toMatchObject([{ values: { gatewayHost: 'gate', wifi: 'withheld' } }]);
  expect(JSON.stringify(answer)).not.toContain('hunter2');
});
