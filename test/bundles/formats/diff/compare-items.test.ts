import { expect, test } from 'vitest';
import { compareItems } from '#bundles/formats/diff/compare-items';
import { readItems } from '#bundles/formats/diff/read-items';

test('a host package, one line of JSON, is compared field by field', () => {
  const itemOf = (units: readonly object[]) =>
    readItems(
      new Map([
        ['package.json', Buffer.from(JSON.stringify({ directories: [], files: [], name: 'web', units }))],
      ]),
    ).get('package.json');
  const before = itemOf([{ enabled: true, name: 'web.service' }]);
  const after = itemOf([{ enabled: false, name: 'web.service' }]);
  expect(compareItems(before, after)?.diff).toBe(`@@ -3,4 +3,4 @@
 files: []
 units:
   - name: web.service
-    enabled: true
+    enabled: false
`);
  expect(compareItems(undefined, after)?.diff).toContain('+  - name: web.service\n+    enabled: false\n');
});
