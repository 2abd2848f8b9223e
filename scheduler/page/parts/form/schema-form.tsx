import { generateTemplates } from '@rjsf/mantine/lib/templates/index.js';
import CheckboxesWidget from '@rjsf/mantine/lib/widgets/CheckboxesWidget.js';
import CheckboxWidget from '@rjsf/mantine/lib/widgets/CheckboxWidget.js';
import PasswordWidget from '@rjsf/mantine/lib/widgets/PasswordWidget.js';
import RadioWidget from '@rjsf/mantine/lib/widgets/RadioWidget.js';
import SelectWidget from '@rjsf/mantine/lib/widgets/SelectWidget.js';
import TextareaWidget from '@rjsf/mantine/lib/widgets/TextareaWidget.js';
import { type FormProps, withTheme } from '@rjsf/core';
import type { WidgetProps } from '@rjsf/utils';
import type { ComponentType } from 'react';
import { described, Description, ObjectFields } from './templates.tsx';
import { validator } from './validator.ts';

const THEME = generateTemplates();

/** Templates of Mantine. Dates and times use the browser's own fields, so that no calendar library is loaded. */
const ThemedForm = withTheme({
  templates: {
    ...THEME,
    BaseInputTemplate: described(THEME.BaseInputTemplate as ComponentType<WidgetProps>),
    DescriptionFieldTemplate: Description,
    ObjectFieldTemplate: ObjectFields,
  },
  widgets: {
    CheckboxesWidget: described(CheckboxesWidget),
    CheckboxWidget,
    PasswordWidget: described(PasswordWidget),
    RadioWidget: described(RadioWidget),
    SelectWidget: described(SelectWidget),
    TextareaWidget: described(TextareaWidget),
  },
});

type Props = Pick<
  FormProps,
  'schema' | 'uiSchema' | 'formData' | 'formContext' | 'templates' | 'extraErrors' | 'idPrefix' | 'onChange'
>;

/** The fields of a form that is generated from a JSON Schema. Its view has the buttons, and judges the data. */
export const SchemaForm = (props: Props) => (
  <ThemedForm
    {...props}
    validator={validator}
    tagName="div"
    noValidate
    showErrorList={false}
    experimental_defaultFormStateBehavior={{ emptyObjectFields: 'skipDefaults' }}
  >
    <></>
  </ThemedForm>
);
