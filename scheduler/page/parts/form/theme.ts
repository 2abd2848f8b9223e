import { generateTemplates } from '@rjsf/mantine/lib/templates/index.js';
import CheckboxesWidget from '@rjsf/mantine/lib/widgets/CheckboxesWidget.js';
import CheckboxWidget from '@rjsf/mantine/lib/widgets/CheckboxWidget.js';
import PasswordWidget from '@rjsf/mantine/lib/widgets/PasswordWidget.js';
import RadioWidget from '@rjsf/mantine/lib/widgets/RadioWidget.js';
import SelectWidget from '@rjsf/mantine/lib/widgets/SelectWidget.js';
import TextareaWidget from '@rjsf/mantine/lib/widgets/TextareaWidget.js';
import { withTheme } from '@rjsf/core';
import { ObjectFields } from './templates.tsx';

/** Templates of Mantine. Dates and times use the browser's own fields, so that no calendar library is loaded. */
export const THEME_TEMPLATES = { ...generateTemplates(), ObjectFieldTemplate: ObjectFields };

/** A form that is generated from a JSON Schema. */
export const SchemaForm = withTheme({
  templates: THEME_TEMPLATES,
  widgets: { CheckboxesWidget, CheckboxWidget, PasswordWidget, RadioWidget, SelectWidget, TextareaWidget },
});
