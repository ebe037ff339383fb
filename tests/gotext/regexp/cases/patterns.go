package main
import ("regexp";"encoding/json";"os")
type In struct{ Texts, Patterns []string }
func main(){
 b,_:=os.ReadFile(os.Args[1]); var in In; json.Unmarshal(b,&in)
 out:=[][]any{}
 for _,p:=range in.Patterns{
  re,err:=regexp.Compile(p)
  if err!=nil{ out=append(out,[]any{p,err.Error()}); continue}
  m:=""; f:=[][]string{}
  for _,t:=range in.Texts{ if re.MatchString(t){m+="1"}else{m+="0"}; x:=re.FindAllString(t,-1); if x==nil{x=[]string{}}; f=append(f,x)}
  out=append(out,[]any{p,"",m,f})
 }
 o,_:=os.Create(os.Args[2]); e:=json.NewEncoder(o); e.SetEscapeHTML(false); e.Encode(out)
}
